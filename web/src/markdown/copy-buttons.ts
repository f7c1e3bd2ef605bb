/** Click handling in a document: copying code, and going to a footnote. */

const COPIED_MS = 1_500;

/** Add a copy button to each code block. The document handles the clicks. */
export function addCopyButtons(element: Element): void {
  for (const caption of element.querySelectorAll("figure.code > figcaption")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.setAttribute("aria-label", `Copy this ${caption.textContent ?? ""} code`);
    caption.append(button);
  }
}

/** Handle a click on a button or footnote link of the document. */
export function handleClick(event: MouseEvent): void {
  const at = event.target instanceof Element ? event.target : null;
  const button = at?.closest<HTMLButtonElement>("button.copy");
  const note = at?.closest<HTMLElement>("a[data-note]");
  if (button) void copyCode(button);
  if (note) {
    event.preventDefault();
    scrollToNote(note);
  }
}

async function copyCode(button: HTMLButtonElement): Promise<void> {
  const code = button.closest("figure")?.querySelector("code")?.textContent ?? "";
  try {
    await navigator.clipboard.writeText(code.replace(/\n$/, ""));
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not allowed";
  }
  setTimeout(() => (button.textContent = "Copy"), COPIED_MS);
}

function scrollToNote(note: HTMLElement): void {
  const label = CSS.escape(note.dataset.note ?? "");
  note.closest(".markdown")?.querySelector(`[data-noted="${label}"]`)?.scrollIntoView({ block: "center" });
}
