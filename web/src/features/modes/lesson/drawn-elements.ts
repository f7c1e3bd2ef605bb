/** Whiteboard content as text, for screen readers and for marks in the transcript. */

import type { ActionTaken } from "../../../api/types.ts";

interface BoardState {
  readonly isOpen: boolean;
  /** Descriptions of the elements by id. */
  readonly elements: ReadonlyMap<string, string>;
}

const EMPTY_BOARD: BoardState = { isOpen: false, elements: new Map() };
type Action = ActionTaken["action"];
const MAX_TEXT_LENGTH = 60;

/** Apply all actions in order. */
export function replayActions(actions: readonly { action: Action }[]): BoardState {
  return actions.reduce((board, { action }) => applyAction(board, action), EMPTY_BOARD);
}

function applyAction(board: BoardState, action: Action): BoardState {
  switch (action.name) {
    case "wb_open":
      return { ...board, isOpen: true };
    case "wb_close":
      return { ...board, isOpen: false };
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
        isOpen: true,
        elements: new Map(board.elements).set(action.elementId ?? action.name, describeElement(action)),
      };
  }
}

type DrawAction = Extract<Action, { elementId: string | null }>;

function describeElement(action: DrawAction): string {
  switch (action.name) {
    case "wb_draw_text":
      return `text “${shorten(action.content)}”`;
    case "wb_draw_shape":
      return withArticle(action.shape);
    case "wb_draw_chart":
      return `${withArticle(action.chartType)} chart of ${shorten(action.data.labels.join(", "))}`;
    case "wb_draw_latex":
      return `the formula ${shorten(action.latex)}`;
    case "wb_draw_table":
      return `a table with ${shorten(action.data[0]?.join(", ") ?? "nothing")}`;
    case "wb_draw_line":
      return action.points.includes("arrow") ? "an arrow" : "a line";
    case "wb_draw_code":
      return `${action.language || "some"} code${action.fileName ? ` in ${action.fileName}` : ""}: ${shorten(action.code)}`;
    default:
      return "something";
  }
}

/** Describe the whole whiteboard. */
export function describeBoard({ elements }: BoardState): string {
  if (!elements.size) return "The whiteboard is empty.";
  return `The whiteboard shows ${[...elements.values()].join("; ")}.`;
}

/** Describe an action; follows the participant's name. */
export function describeAction(action: Action): string {
  switch (action.name) {
    case "wb_open":
      return "opens the whiteboard";
    case "wb_close":
      return "closes the whiteboard";
    case "wb_clear":
      return "clears the whiteboard";
    case "wb_delete":
      return "erases part of the whiteboard";
    case "wb_draw_text":
      return `writes “${shorten(action.content, 40)}”`;
    case "wb_draw_latex":
      return "writes a formula";
    case "wb_draw_code":
      return "writes code";
    case "wb_draw_chart":
      return `draws ${withArticle(action.chartType)} chart`;
    case "wb_draw_shape":
      return `draws ${withArticle(action.shape)}`;
    case "wb_draw_table":
      return "draws a table";
    case "wb_draw_line":
      return action.points.includes("arrow") ? "draws an arrow" : "draws a line";
    case "wb_edit_code":
      return "changes the code";
    case "spotlight":
      return "highlights part of the whiteboard";
    case "laser":
      return "points at the whiteboard";
    case "play_video":
      return "plays a video";
    default:
      return "does something";
  }
}

const withArticle = (what: string): string => `${/^[aeiou]/.test(what) ? "an" : "a"} ${what}`;

function shorten(text: string, most = MAX_TEXT_LENGTH): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > most ? `${line.slice(0, most - 1).trimEnd()}…` : line;
}
