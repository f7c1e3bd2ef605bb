/** Actions and view state of an answer card. Errors are shown on the card. */

import { tick } from "svelte";
import { copyText } from "../../ui/clipboard.ts";
import { callApi, newIdempotencyKey } from "../../api/client.ts";
import { getComposerDraft } from "../../stores/composer-draft.svelte.ts";
import { session } from "../../stores/session.svelte.ts";
import { messageUrl } from "../../stores/router.svelte.ts";
import { turnNotices, type Run } from "../../state/run.ts";
import { isAnswered, isLiveTurn, type Turn } from "../../state/turn.ts";
import type { Discussion, Notice } from "../../api/types.ts";

type CardDialog = "prompt" | "assertions" | "swap";

export class CardActions {
  errorMessage = $state("");
  isBusy = $state(false);
  /** The open dialog. */
  dialog = $state<CardDialog | null>(null);
  readonly #getTurn: () => Turn;
  readonly #getRun: () => Run;
  readonly #getDiscussion: () => Discussion;
  readonly #focusCard: () => void;

  /** The regeneration in progress. */
  readonly regeneration = $derived.by(() => {
    const { regeneration } = this.#getTurn();
    return regeneration && isLiveTurn(regeneration) ? regeneration : null;
  });
  readonly #currentVersion = $derived.by(() => {
    const { version, versions } = this.#getTurn();
    return `${version}/${versions}`;
  });
  /** Another version that the user looks at, until a new one exists. Viewing changes nothing. */
  earlierVersion = $derived.by<Turn | null>(() => {
    void this.#currentVersion;
    return null;
  });
  readonly shownTurn = $derived.by(() => this.regeneration ?? this.earlierVersion ?? this.#getTurn());

  /** Notices about the shown version. Other versions have their own runs. */
  readonly notices = $derived.by<readonly Notice[]>(() => {
    const { regeneration, shownTurn } = this;
    if (!regeneration) return shownTurn.version > 1 ? [] : turnNotices(this.#getRun(), this.#getTurn());
    const regenerationRun = session.openDiscussion?.runs.find((run) => run.id === regeneration.run);
    return regenerationRun ? turnNotices(regenerationRun, regeneration) : [];
  });

  constructor(turn: () => Turn, run: () => Run, discussion: () => Discussion, focus: () => void) {
    this.#getTurn = turn;
    this.#getRun = run;
    this.#getDiscussion = discussion;
    this.#focusCard = focus;
  }

  /** Stop this answer, or its regeneration. */
  async stop(): Promise<void> {
    const { run, participant } = this.regeneration ?? this.#getTurn();
    this.#focusCard();
    await this.#runExclusive(() =>
      callApi("POST /api/runs/{id}/lanes/{participant}/stop", { path: { id: run, participant } }),
    );
  }

  /** Retry a failed turn, optionally with another model. */
  async retry(model: string | null = null): Promise<void> {
    const { run, participant } = this.#getTurn();
    this.#focusCard();
    await this.#runExclusive(() =>
      callApi("POST /api/runs/{id}/lanes/{participant}/retry", {
        path: { id: run, participant },
        body: { model },
      }),
    );
  }

  /** Regenerate the answer with its original prompt. */
  async regenerate(model: string | null = null): Promise<void> {
    this.#focusCard();
    await this.#runExclusive(() =>
      callApi("POST /api/discussions/{id}/turns/{turn}/regenerate", {
        path: this.#turnPath(),
        body: { model },
        idempotencyKey: newIdempotencyKey(),
      }),
    );
  }

  /** Regenerate or retry, depending on how the turn ended. */
  async retryOrRegenerate(model: string | null = null): Promise<void> {
    await (isAnswered(this.#getTurn()) ? this.regenerate(model) : this.retry(model));
  }

  /** Regenerate or retry with another model. The dialog returns the focus to its opener, which disappears. */
  async changeModel(model: string): Promise<void> {
    await tick();
    await this.retryOrRegenerate(model);
  }

  async edit(content: string): Promise<boolean> {
    return this.#runExclusive(async () =>
      session.replaceMessage(
        await callApi("PATCH /api/discussions/{id}/turns/{turn}", {
          path: this.#turnPath(),
          body: { content },
        }),
      ),
    );
  }

  async selectVersion(version: string): Promise<boolean> {
    this.#focusCard();
    return this.#runExclusive(async () =>
      session.replaceMessage(
        await callApi("POST /api/discussions/{id}/turns/{turn}/select", {
          path: this.#turnPath(),
          body: { version },
        }),
      ),
    );
  }

  reply(): void {
    const composerDraft = getComposerDraft(this.#getDiscussion().id);
    composerDraft.to = [this.#getTurn().participant];
    composerDraft.focus();
  }

  async copyLink(): Promise<void> {
    const { id, turn } = this.#turnPath();
    await copyText(messageUrl(id, turn));
  }

  #turnPath(): { id: string; turn: string } {
    return { id: this.#getDiscussion().id, turn: this.#getTurn().message ?? "" };
  }

  async #runExclusive(act: () => Promise<unknown>): Promise<boolean> {
    if (this.isBusy) return false;
    this.isBusy = true;
    this.errorMessage = "";
    try {
      await act();
      return true;
    } catch (error) {
      this.errorMessage = (error as Error).message;
      return false;
    } finally {
      this.isBusy = false;
    }
  }
}
