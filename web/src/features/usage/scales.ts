/** Chart scales: axis ticks, label spacing and bands. */

const TICK_STEPS = [1, 2, 2.5, 5, 10];

/** Round ticks from 0 to the first one that is not below the maximum. */
export function axisTicks(greatest: number, maxTicks = 4, minStep = 0): readonly number[] {
  if (!(greatest > 0)) return [0];
  const raw = Math.max(greatest / maxTicks, minStep);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * (TICK_STEPS.find((one) => one * power >= raw * (1 - 1e-9)) ?? 10);
  const count = Math.ceil((greatest / step) * (1 - 1e-9));
  return Array.from({ length: count + 1 }, (_, place) => Number((place * step).toPrecision(12)));
}

/** Return n such that every n-th of `count` labels of this width fits. */
export function labelStride(count: number, room: number, width: number): number {
  return Math.max(1, Math.ceil((count * width) / Math.max(room, width)));
}

/** Divide a width into bands with gaps. Bars have a maximum width. */
export function barBands(count: number, room: number): { step: number; width: number } {
  const step = count ? room / count : room;
  return { step, width: Math.max(1, Math.min(step * 0.72, 40)) };
}
