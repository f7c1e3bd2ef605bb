/** Scales of plots: where marks of an axis stand, and which of many labels have room. */

const TICK_STEPS = [1, 2, 2.5, 5, 10];

/** Round marks from 0 up to the first one that is not below the greatest value. */
export function axisTicks(greatest: number, maxTicks = 4, minStep = 0): readonly number[] {
  if (!(greatest > 0)) return [0];
  const raw = Math.max(greatest / maxTicks, minStep);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * (TICK_STEPS.find((one) => one * power >= raw * (1 - 1e-9)) ?? 10);
  const count = Math.ceil((greatest / step) * (1 - 1e-9));
  return Array.from({ length: count + 1 }, (_, place) => Number((place * step).toPrecision(12)));
}

/** Every how many of `count` places a label of this width stands, when there is so much room. */
export function labelStride(count: number, room: number, width: number): number {
  return Math.max(1, Math.ceil((count * width) / Math.max(room, width)));
}

/** Divide a width into bands with a gap between them; bars are never wider than a thumb. */
export function barBands(count: number, room: number): { step: number; width: number } {
  const step = count ? room / count : room;
  return { step, width: Math.max(1, Math.min(step * 0.72, 40)) };
}
