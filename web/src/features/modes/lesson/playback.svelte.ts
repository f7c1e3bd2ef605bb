/** Which moment of a lesson is looked at: the newest one while it goes on, or any other of it. */

import { getContext, setContext, untrack } from "svelte";
import { kindOf } from "../../../state/run-kind.ts";
import type { Open } from "../../../state/discussion.ts";
import { goesOn } from "../../../state/run.ts";
import { moments, pause, type Moment } from "./moments.ts";
import { recordings } from "./recordings.svelte.ts";

const KEY = Symbol("playback");

export class Playback {
  /** The id of the moment; null is the newest one, whatever comes. */
  #at = $state.raw<string | null>(null);
  playing = $state.raw(false);
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #open: () => Open;

  readonly runs = $derived.by(() => {
    const { discussion, runs } = this.#open();
    if (!discussion) return [];
    const lessons = runs.filter((run) => !run.again && kindOf(run, discussion) === "lesson");
    return lessons.map((run) => recordings.of(run));
  });
  readonly moments = $derived(moments(this.runs));
  readonly place = $derived.by(() => {
    const found = this.#at === null ? -1 : this.moments.findIndex((one) => one.id === this.#at);
    return found < 0 ? this.moments.length - 1 : found;
  });
  readonly isNewest = $derived(this.#at === null || this.place === this.moments.length - 1);
  /** Whether more is to come. */
  readonly goesOn = $derived(this.runs.some(goesOn));
  readonly now = $derived<Moment | null>(this.moments[this.place] ?? null);
  /** What was done until then, in all runs. */
  readonly done = $derived(
    this.moments.slice(0, this.place + 1).flatMap((one) => (one.action ? [one.action] : [])),
  );

  constructor(open: () => Open) {
    this.#open = open;
    setContext(KEY, this);
    $effect(() => {
      const over = this.#open().runs.filter((run) => !run.heard && !goesOn(run));
      const lessons = new Set(this.runs.map((run) => run.id));
      const ids = over.map((run) => run.id).filter((id) => lessons.has(id));
      untrack(() => recordings.want(ids));
    });
    $effect(() => () => clearTimeout(this.#timer));
  }

  /** Look at a moment; the newest one is followed from then on. */
  go(place: number): void {
    this.pause();
    this.#look(place);
  }

  find(id: string): void {
    const place = this.moments.findIndex((one) => one.id === id);
    if (place >= 0) this.go(place);
  }

  step(by: 1 | -1): void {
    this.go(this.place + by);
  }

  follow(): void {
    this.go(this.moments.length - 1);
  }

  /** Play from here on, or from the start where there is nothing after this. */
  play(): void {
    if (this.isNewest) this.#look(0);
    this.playing = this.moments.length > 1;
    this.#wait();
  }

  pause(): void {
    this.playing = false;
    clearTimeout(this.#timer);
  }

  #wait(): void {
    clearTimeout(this.#timer);
    if (!this.playing || !this.now) return;
    this.#timer = setTimeout(() => {
      this.#look(this.place + 1);
      if (this.isNewest) this.pause();
      else this.#wait();
    }, pause(this.now));
  }

  #look(place: number): void {
    const last = this.moments.length - 1;
    this.#at = place >= last ? null : (this.moments[Math.max(0, place)]?.id ?? null);
  }
}

/** The playback of the lesson around; there is none where a lesson is shown without its board. */
export function playback(): Playback | undefined {
  return getContext<Playback | undefined>(KEY);
}
