/** How numbers are written on the page. */

const DOLLARS = new Intl.NumberFormat("en", { style: "currency", currency: "USD", maximumFractionDigits: 2 });
const COUNT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export function dollars(amount: number | null | undefined): string {
  if (amount === null || amount === undefined) return "price unknown";
  if (amount === 0) return "free";
  if (amount < 0.01) return `${(amount * 100).toPrecision(2)}¢`;
  return DOLLARS.format(amount);
}

export function count(amount: number): string {
  return COUNT.format(amount);
}

export function seconds(amount: number | null): string {
  if (amount === null) return "";
  return amount < 10 ? `${amount.toFixed(1)} s` : `${Math.round(amount)} s`;
}
