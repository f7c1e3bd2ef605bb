/** Words for waiting: for a person, or for a connection, without which some things are not known or cannot be done. */

export const WAITS_FOR_ANSWER = "waits for your answer";
export const WAITING_FOR_CONNECTION = "Waiting for the connection";
export const CANNOT_STOP = "Without a connection nobody can be stopped";
export const CANNOT_ANSWER = "Without a connection nothing can be allowed or refused";
