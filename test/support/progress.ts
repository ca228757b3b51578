const everyMs = 10_000;

/** Prints how far a long run is, at most every 10 seconds. Returns what is called with how much has been done. */
export function progress(name: string, total: number): (done: number) => void {
  const begun = performance.now();
  let printedAt = begun;
  return (done) => {
    const now = performance.now();
    if (now - printedAt < everyMs) return;
    printedAt = now;
    console.error(`${name}: ${done} of ${total} after ${Math.round((now - begun) / 1_000)} s`);
  };
}
