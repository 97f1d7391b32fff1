// The server's events. Each snapshot is whole, so whatever was missed (a closed tab, a machine that slept) needs no
// more than the next one.

import type {Snapshot} from "./snapshot";

const SILENT_MS = 25_000;  // the server says every 10 s that it is there

export interface Heard {
  snapshot(snapshot: Snapshot): void;
  lost(): void;
  over(): void;
}

/** Listens until the loop in the terminal has ended. */
export function listen(heard: Heard): void {
  let source: EventSource, last = 0, is_over = false;
  const alive = (): void => {
    last = Date.now();
  };
  const connect = (): void => {
    alive();
    source = new EventSource("events");
    source.addEventListener("alive", alive);
    source.addEventListener("message", (event) => {
      alive();
      heard.snapshot(JSON.parse(event.data));
    });
    source.addEventListener("over", () => {
      is_over = true;
      source.close();
      heard.over();
    });
    source.addEventListener("error", () => {
      if (!is_over) heard.lost();
    });
  };
  connect();
  // A browser gives up after some errors, and a connection that a sleep has cut looks as if it were open.
  setInterval(() => {
    if (is_over || (source.readyState !== EventSource.CLOSED && Date.now() - last < SILENT_MS)) return;
    source.close();
    connect();
  }, 2000);
}

/** Says to the loop what was pressed. */
export async function press(what: "next"|"hint"): Promise<void> {
  await fetch(what, {method: "POST"}).catch(() => undefined);  // without a server, the page says so already
}
