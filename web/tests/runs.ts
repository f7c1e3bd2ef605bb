/** How many examples a property is tried on: all of them, unless FEW_RUNS is set. */
export function runs(all: number): number {
  return process.env.FEW_RUNS ? Math.ceil(all / 10) : all;
}
