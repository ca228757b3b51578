import { z } from 'zod';

/** What names an object of the configuration. */
export const refShape = z.object({ id: z.uuid(), key: z.string(), name: z.string() }).meta({ id: 'Ref' });
export type Ref = z.infer<typeof refShape>;

export const refOf = ({ id, key, name }: Ref): Ref => ({ id, key, name });
