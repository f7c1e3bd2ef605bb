/** What is on the board, in words: for those who do not see it, and for the marks in the transcript. */

import type { ActionTaken } from "../../../api/types.ts";

interface Drawn {
  readonly open: boolean;
  /** Each element by its id, with what it shows. */
  readonly elements: ReadonlyMap<string, string>;
}

const NOTHING: Drawn = { open: false, elements: new Map() };
type Action = ActionTaken["action"];
const SHORT = 60;

/** Go through what was done, from the first action on. */
export function drawn(actions: readonly { action: Action }[]): Drawn {
  return actions.reduce((board, { action }) => after(board, action), NOTHING);
}

function after(board: Drawn, action: Action): Drawn {
  switch (action.name) {
    case "wb_open":
      return { ...board, open: true };
    case "wb_close":
      return { ...board, open: false };
    case "wb_clear":
      return { ...board, elements: new Map() };
    case "wb_delete":
      return { ...board, elements: new Map([...board.elements].filter(([id]) => id !== action.elementId)) };
    case "wb_edit_code":
    case "spotlight":
    case "laser":
    case "play_video":
      return board;
    default:
      return {
        open: true,
        elements: new Map(board.elements).set(action.elementId ?? action.name, shown(action)),
      };
  }
}

type Drawing = Extract<Action, { elementId: string | null }>;

function shown(action: Drawing): string {
  switch (action.name) {
    case "wb_draw_text":
      return `text “${short(action.content)}”`;
    case "wb_draw_shape":
      return one(action.shape);
    case "wb_draw_chart":
      return `${one(action.chartType)} chart of ${short(action.data.labels.join(", "))}`;
    case "wb_draw_latex":
      return `the formula ${short(action.latex)}`;
    case "wb_draw_table":
      return `a table with ${short(action.data[0]?.join(", ") ?? "nothing")}`;
    case "wb_draw_line":
      return action.points.includes("arrow") ? "an arrow" : "a line";
    case "wb_draw_code":
      return `${action.language || "some"} code${action.fileName ? ` in ${action.fileName}` : ""}: ${short(action.code)}`;
    default:
      return "something";
  }
}

/** Tell the whole board. */
export function told({ elements }: Drawn): string {
  if (!elements.size) return "The whiteboard is empty.";
  return `The whiteboard shows ${[...elements.values()].join("; ")}.`;
}

/** Tell what somebody does, to stand after their name. */
export function does(action: Action): string {
  switch (action.name) {
    case "wb_open":
      return "opens the board";
    case "wb_close":
      return "closes the board";
    case "wb_clear":
      return "wipes the board";
    case "wb_delete":
      return "erases part of the board";
    case "wb_draw_text":
      return `writes “${short(action.content, 40)}”`;
    case "wb_draw_latex":
      return "writes a formula";
    case "wb_draw_code":
      return "writes code";
    case "wb_draw_chart":
      return `draws ${one(action.chartType)} chart`;
    case "wb_draw_shape":
      return `draws ${one(action.shape)}`;
    case "wb_draw_table":
      return "draws a table";
    case "wb_draw_line":
      return action.points.includes("arrow") ? "draws an arrow" : "draws a line";
    case "wb_edit_code":
      return "changes the code";
    case "spotlight":
      return "highlights part of the board";
    case "laser":
      return "points at the board";
    case "play_video":
      return "plays a video";
    default:
      return "does something";
  }
}

/** One of something, with its article. */
const one = (what: string): string => `${/^[aeiou]/.test(what) ? "an" : "a"} ${what}`;

function short(text: string, most = SHORT): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > most ? `${line.slice(0, most - 1).trimEnd()}…` : line;
}
