/** Print the state of each run in a file of event logs, as JSON. A test compares it with the Python reducer. */

import { readFileSync } from "node:fs";
import type { Event } from "../src/api/types.ts";
import { applyRunEvent, emptyRun } from "../src/state/run.ts";

const logs = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8")) as Event[][];
console.log(JSON.stringify(logs.map((log) => log.reduce(applyRunEvent, emptyRun("run_1")))));
