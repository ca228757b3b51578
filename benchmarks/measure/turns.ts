/** What is measured in turn with others: a case of one side. */
export interface Stand<Result> {
  readonly case: string;
  readonly side: string;
  readonly measure: (round: number) => Promise<Result>;
}

/**
 * Measures stands in turn for a number of rounds: A B, B A, A B … `each` takes every result as it comes.
 */
export async function inTurn<Result>(
  stands: readonly Stand<Result>[],
  rounds: number,
  each: (stand: Stand<Result>, round: number, result: Result) => void,
): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    const order = round % 2 === 1 ? stands.toReversed() : stands;
    for (const stand of order) each(stand, round, await stand.measure(round));
  }
}
