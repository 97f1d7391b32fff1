// Elements are made from text, never from HTML: much of what is shown is a learner's, or printed by their program.

type Child = Node|string|null|undefined|false;
type Attributes = Record<string, string|number|boolean|null|undefined|((event: any) => void)>;

const SVG = "http://www.w3.org/2000/svg";

function fill(element: Element, attributes: Attributes, children: Child[]): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function")
      element.addEventListener(name, value);
    else if (value === true)
      element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined)
      element.setAttribute(name, String(value));
  }
  element.append(
      ...children.filter((child): child is Node|string => child !== null && child !== undefined && child !== false));
}

/** An HTML element; a function among the attributes is a listener of that event. */
export function h<K extends keyof HTMLElementTagNameMap>(
    tag: K, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  fill(element, attributes, children);
  return element;
}

/** An SVG element. */
export function svg(tag: string, attributes: Attributes = {}, ...children: Child[]): SVGElement {
  const element = document.createElementNS(SVG, tag);
  fill(element, attributes, children);
  return element;
}

let made = 0;

/** An id that no other element of the page has: several steppers may be on it. */
export function newId(): string {
  return `stepper-${++made}`;
}
