/** Playback position of a lesson: the newest moment, or an earlier one. */

import { getContext, setContext, untrack } from "svelte";
import { isLiveRun, runSpec } from "../../../state/run.ts";
import type { OpenDiscussion } from "../../../state/discussion.ts";
import { lessonMoments, momentDurationMs, type Moment } from "./moments.ts";
import { recordingStore } from "./recordings.svelte.ts";

const CONTEXT_KEY = Symbol("playback");

export class Playback {
  /** Id of the moment; null follows the newest. */
  #momentId = $state.raw<string | null>(null);
  isPlaying = $state.raw(false);
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #getOpen: () => OpenDiscussion;

  readonly runs = $derived.by(() => {
    const { discussion, runs } = this.#getOpen();
    if (!discussion) return [];
    const lessons = runs.filter((run) => !run.regenerate && runSpec(run, discussion).has_whiteboard);
    return lessons.map((run) => recordingStore.withRecording(run));
  });
  readonly moments = $derived(lessonMoments(this.runs));
  readonly index = $derived.by(() => {
    const found = this.#momentId === null ? -1 : this.moments.findIndex((one) => one.id === this.#momentId);
    return found < 0 ? this.moments.length - 1 : found;
  });
  readonly isNewest = $derived(this.#momentId === null || this.index === this.moments.length - 1);
  /** Whether the lesson is live. */
  readonly isLive = $derived(this.runs.some(isLiveRun));
  readonly currentMoment = $derived<Moment | null>(this.moments[this.index] ?? null);
  /** All actions up to this moment, in all runs. */
  readonly performedActions = $derived(
    this.moments.slice(0, this.index + 1).flatMap((one) => (one.action ? [one.action] : [])),
  );

  constructor(open: () => OpenDiscussion) {
    this.#getOpen = open;
    setContext(CONTEXT_KEY, this);
    $effect(() => {
      const over = this.#getOpen().runs.filter((run) => !run.lastSeq && !isLiveRun(run));
      const lessons = new Set(this.runs.map((run) => run.id));
      const ids = over.map((run) => run.id).filter((id) => lessons.has(id));
      untrack(() => recordingStore.request(ids));
    });
    $effect(() => () => clearTimeout(this.#timer));
  }

  /** Go to a moment. From the newest one on, playback follows the lesson. */
  goTo(place: number): void {
    this.pause();
    this.#setIndex(place);
  }

  goToMoment(id: string): void {
    const place = this.moments.findIndex((one) => one.id === id);
    if (place >= 0) this.goTo(place);
  }

  step(by: 1 | -1): void {
    this.goTo(this.index + by);
  }

  followNewest(): void {
    this.goTo(this.moments.length - 1);
  }

  /** Play from here, or from the start if this is the end. */
  play(): void {
    if (this.isNewest) this.#setIndex(0);
    this.isPlaying = this.moments.length > 1;
    this.#scheduleNext();
  }

  pause(): void {
    this.isPlaying = false;
    clearTimeout(this.#timer);
  }

  #scheduleNext(): void {
    clearTimeout(this.#timer);
    if (!this.isPlaying || !this.currentMoment) return;
    this.#timer = setTimeout(() => {
      this.#setIndex(this.index + 1);
      if (this.isNewest) this.pause();
      else this.#scheduleNext();
    }, momentDurationMs(this.currentMoment));
  }

  #setIndex(place: number): void {
    const last = this.moments.length - 1;
    this.#momentId = place >= last ? null : (this.moments[Math.max(0, place)]?.id ?? null);
  }
}

/** The playback from the context; undefined for a lesson without a whiteboard. */
export function getPlayback(): Playback | undefined {
  return getContext<Playback | undefined>(CONTEXT_KEY);
}
