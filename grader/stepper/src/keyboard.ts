// Which key does what, and where it is left to the element that has the focus.

export interface Keys {
  next(): void;
  previous(): void;
  finer(): void;
  coarser(): void;
  first(): void;
  last(): void;
  predict(): void;
  thread(): void;
  everything(): void;
  help(): void;
  answer(number: number): boolean;
}

/** Listens on `target`; returns what ends it. */
export function listen(target: HTMLElement|Document, keys: Keys): () => void {
  const heard = (event: Event): void => {
    if (event instanceof KeyboardEvent && !event.ctrlKey && !event.metaKey && !event.altKey && take(event, keys))
      event.preventDefault();
  };
  target.addEventListener("keydown", heard);
  return () => target.removeEventListener("keydown", heard);
}

function take(event: KeyboardEvent, keys: Keys): boolean {
  const focused = event.target instanceof HTMLElement ? event.target : document.body;
  if (focused.closest("dialog, select, input[type=text], textarea")) return false;
  const is_arrow = event.key.startsWith("Arrow") || event.key === "Home" || event.key === "End";
  if (is_arrow && (focused.matches("input[type=radio]") || scrolls(focused, event.key))) return false;
  if (/^[1-4]$/.test(event.key)) return keys.answer(Number(event.key));
  const found: Record<string, () => void> = {
    ArrowRight: keys.next,
    ArrowLeft: keys.previous,
    ArrowDown: keys.finer,
    ArrowUp: keys.coarser,
    Home: keys.first,
    End: keys.last,
    p: keys.predict,
    t: keys.thread,
    Escape: keys.everything,
    "?": keys.help,
  };
  const action = Object.hasOwn(found, event.key) ? found[event.key] : undefined;
  action?.();
  return action !== undefined;
}

/** A region that was reached by the keyboard keeps the keys that scroll it. */
function scrolls(focused: HTMLElement, key: string): boolean {
  if (focused.tabIndex < 0 || !focused.matches("[role=group]:focus-visible, pre:focus-visible")) return false;
  const is_across = key === "ArrowLeft" || key === "ArrowRight";
  return is_across ? focused.scrollWidth > focused.clientWidth + 1 : focused.scrollHeight > focused.clientHeight + 1;
}
