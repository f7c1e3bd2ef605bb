/** Labels for waiting: for an approval, or for the connection. */

export const WAITS_FOR_ANSWER = "waits for your answer";
export const WAITING_FOR_CONNECTION = "Waiting for the connection";
export const CANNOT_STOP = "Offline: cannot stop";
export const CANNOT_ANSWER = "Offline: cannot approve or deny";
