/** Languages for answers, with names from the browser. */

const LANGUAGE_CODES =
  "ar bg bn ca cs da de el en es et fa fi fr he hi hr hu id it ja ko lt lv ms nl no pl pt ro ru sk sl sr sv sw ta th tr uk ur vi zh".split(
    " ",
  );

/** Pairs of code and name, sorted by name. Always includes `chosen`. */
export function languageOptions(selected: string | null): readonly (readonly [code: string, name: string])[] {
  const names = new Intl.DisplayNames(["en"], { type: "language", fallback: "code" });
  const codes =
    selected && !LANGUAGE_CODES.includes(selected) ? [...LANGUAGE_CODES, selected] : LANGUAGE_CODES;
  return codes
    .map((code) => [code, names.of(code) ?? code] as const)
    .sort(([, one], [, other]) => one.localeCompare(other));
}
