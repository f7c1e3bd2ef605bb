/** What one can do with an answer, and what of it is looked at. Why something was not done is told beside it. */

import { tick } from "svelte";
import { copy } from "../../ui/clipboard.ts";
import { call, newKey } from "../../api/client.ts";
import { deskOf } from "../../stores/composer-draft.svelte.ts";
import { live } from "../../stores/session.svelte.ts";
import { linkTo } from "../../stores/router.svelte.ts";
import { remarksOn } from "../../state/notices.ts";
import type { Run } from "../../state/run.ts";
import { isAnswered, isLive, type Turn } from "../../state/turn.ts";
import type { Discussion, Notice } from "../../api/types.ts";

type Sheet = "prompt" | "assertions" | "swap";

export class CardActs {
  trouble = $state("");
  isBusy = $state(false);
  /** What lies open over the page. */
  sheet = $state<Sheet | null>(null);
  readonly #turn: () => Turn;
  readonly #run: () => Run;
  readonly #discussion: () => Discussion;
  readonly #focus: () => void;

  /** The other version of it that is being given. */
  readonly renewal = $derived.by(() => {
    const { renewal } = this.#turn();
    return renewal && isLive(renewal) ? renewal : null;
  });
  readonly #current = $derived.by(() => {
    const { version, versions } = this.#turn();
    return `${version}/${versions}`;
  });
  /** Another version that is looked at, until there is a new one; nothing is changed by that. */
  earlier = $derived.by<Turn | null>(() => {
    void this.#current;
    return null;
  });
  readonly shown = $derived.by(() => this.renewal ?? this.earlier ?? this.#turn());

  /** What is told of what is shown while it is tried, and who gave it; other versions have runs of their own. */
  readonly remarks = $derived.by<readonly Notice[]>(() => {
    const { renewal, shown } = this;
    if (!renewal) return shown.version > 1 ? [] : remarksOn(this.#run(), this.#turn());
    const again = live.open?.runs.find((run) => run.id === renewal.run);
    return again ? remarksOn(again, renewal) : [];
  });

  constructor(turn: () => Turn, run: () => Run, discussion: () => Discussion, focus: () => void) {
    this.#turn = turn;
    this.#run = run;
    this.#discussion = discussion;
    this.#focus = focus;
  }

  /** Stop this answer, or the other version of it that is being given. */
  async stop(): Promise<void> {
    const { run, participant } = this.renewal ?? this.#turn();
    this.#focus();
    await this.#do(() =>
      call("POST /api/runs/{id}/lanes/{participant}/stop", { path: { id: run, participant } }),
    );
  }

  /** Let one that failed try again, perhaps by another model. */
  async retry(model: string | null = null): Promise<void> {
    const { run, participant } = this.#turn();
    this.#focus();
    await this.#do(() =>
      call("POST /api/runs/{id}/lanes/{participant}/retry", {
        path: { id: run, participant },
        body: { model },
      }),
    );
  }

  /** Let the answer be given anew, with the prompt of then. */
  async again(model: string | null = null): Promise<void> {
    this.#focus();
    await this.#do(() =>
      call("POST /api/discussions/{id}/turns/{turn}/again", {
        path: this.#path(),
        body: { model },
        key: newKey(),
      }),
    );
  }

  /** Whatever fits how the turn ended. */
  async renew(model: string | null = null): Promise<void> {
    await (isAnswered(this.#turn()) ? this.again(model) : this.retry(model));
  }

  /** Let another model do that. The dialog gives the focus back to what opened it, and that goes away. */
  async swap(model: string): Promise<void> {
    await tick();
    await this.renew(model);
  }

  async edit(content: string): Promise<boolean> {
    return this.#do(async () =>
      live.changed(
        await call("PATCH /api/discussions/{id}/turns/{turn}", { path: this.#path(), body: { content } }),
      ),
    );
  }

  async choose(version: string): Promise<boolean> {
    this.#focus();
    return this.#do(async () =>
      live.changed(
        await call("POST /api/discussions/{id}/turns/{turn}/choose", {
          path: this.#path(),
          body: { version },
        }),
      ),
    );
  }

  reply(): void {
    const desk = deskOf(this.#discussion().id);
    desk.to = [this.#turn().participant];
    desk.focus();
  }

  async link(): Promise<void> {
    const { id, turn } = this.#path();
    await copy(linkTo(id, turn));
  }

  #path(): { id: string; turn: string } {
    return { id: this.#discussion().id, turn: this.#turn().message ?? "" };
  }

  async #do(act: () => Promise<unknown>): Promise<boolean> {
    if (this.isBusy) return false;
    this.isBusy = true;
    this.trouble = "";
    try {
      await act();
      return true;
    } catch (error) {
      this.trouble = (error as Error).message;
      return false;
    } finally {
      this.isBusy = false;
    }
  }
}
