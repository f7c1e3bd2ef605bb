/** Second line of defence: all HTML passes a strict allow-list of tags and attributes. */

import DOMPurify, { type Config } from "dompurify";

/** Tags and attributes of Markdown blocks. */
const BLOCK_TAGS =
  "a blockquote br code del div em figcaption figure h3 h4 h5 h6 hr li ol p pre span strong sup table tbody td th thead tr ul".split(
    " ",
  );
const BLOCK_ATTRIBUTES =
  "aria-label class data-formula data-language data-note data-noted href rel role start tabindex target".split(
    " ",
  );
/** Tags and attributes of KaTeX. Its source annotation is left out, because screen readers would read it too. */
const MATH_TAGS =
  "span svg path math semantics mrow mi mo mn ms mtext mspace msub msup msubsup mfrac msqrt mroot munder mover munderover mmultiscripts mtable mtr mtd mstyle mpadded mphantom menclose merror".split(
    " ",
  );
const MATH_ATTRIBUTES =
  "aria-hidden class d data-style preserveaspectratio viewbox xmlns accent accentunder columnalign columnlines columnspacing depth display displaystyle fence height linethickness lspace mathbackground mathcolor mathsize mathvariant maxsize minsize movablelimits notation rowlines rowspacing rspace scriptlevel separator side stretchy symmetric voffset width".split(
    " ",
  );

const COMMON_CONFIG: Config = {
  RETURN_DOM_FRAGMENT: true,
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|#)/i,
  // The URL rule applies to URL attributes only.
  ADD_URI_SAFE_ATTR: [...BLOCK_ATTRIBUTES, ...MATH_ATTRIBUTES].filter((name) => name !== "href"),
};
const BLOCK_CONFIG: Config = { ...COMMON_CONFIG, ALLOWED_TAGS: BLOCK_TAGS, ALLOWED_ATTR: BLOCK_ATTRIBUTES };
const CODE_CONFIG: Config = { ...COMMON_CONFIG, ALLOWED_TAGS: ["span"], ALLOWED_ATTR: ["class"] };
const FORMULA_CONFIG: Config = {
  ...COMMON_CONFIG,
  ALLOWED_TAGS: MATH_TAGS,
  ALLOWED_ATTR: MATH_ATTRIBUTES,
  FORBID_CONTENTS: ["annotation", "annotation-xml", "script", "style"],
};

export const sanitizeBlock = createSanitizer(BLOCK_CONFIG);
/** Allows the highlighter's output: spans with classes. */
export const sanitizeCode = createSanitizer(CODE_CONFIG);
export const sanitizeFormula = createSanitizer(FORMULA_CONFIG);

/** One instance per list, because reading a list costs as much as a block. */
function createSanitizer(config: Config): (html: string) => DocumentFragment {
  const purify = DOMPurify(window);
  purify.setConfig(config);
  // A link that opens elsewhere must not send a referrer. DOMPurify drops targets unless configured.
  purify.addHook("afterSanitizeAttributes", (node) => {
    if (node.nodeName === "A" && node.getAttribute("href")?.startsWith("#") === false) {
      node.setAttribute("target", "_blank");
      node.setAttribute("rel", "noopener noreferrer nofollow");
    }
  });
  return (html) => purify.sanitize(html) as unknown as DocumentFragment;
}
