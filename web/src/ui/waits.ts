/** Words for what is not known, and what cannot be done, while there is no connection. */

export const WAITS = "Waiting for the connection";
export const CANNOT_STOP = "Without a connection nobody can be stopped";
export const CANNOT_ANSWER = "Without a connection nothing can be allowed or refused";
