/** Number formatting. */

const USD_FORMAT = new Intl.NumberFormat("en", {
  style: "currency",
  currency: "USD",
  maximumFractionDigits: 2,
});
const COUNT_FORMAT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export function formatUsd(amount: number | null | undefined): string {
  if (amount === null || amount === undefined) return "price unknown";
  if (amount === 0) return "free";
  if (amount < 0.01) return `${(amount * 100).toPrecision(2)}¢`;
  return USD_FORMAT.format(amount);
}

export function formatCount(amount: number): string {
  return COUNT_FORMAT.format(amount);
}

export function formatSeconds(amount: number | null): string {
  if (amount === null) return "";
  return amount < 10 ? `${amount.toFixed(1)} s` : `${Math.round(amount)} s`;
}
