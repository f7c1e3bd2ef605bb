/** Number of examples for a property test: a tenth if FEW_RUNS is set. */
export function exampleCount(all: number): number {
  return process.env.FEW_RUNS ? Math.ceil(all / 10) : all;
}
