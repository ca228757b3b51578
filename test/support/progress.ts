const everyMs = 10_000;

/** Prints the progress of a long run, at most every 10 seconds. Returns the function to call with the number done. */
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
