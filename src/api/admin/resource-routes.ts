/** The operations of every resource of the configuration: list, create, update, delete, get. resources.ts declares the resources. */
import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import {
  archiveObject,
  createObject,
  type EditContext,
  EditRefusal,
  objectsAt,
  type Place,
  systemOf,
  updateObject,
} from '../../config/edits.js';
import { kinds } from '../../config/kinds.js';
import { type ConfigDocument, listIn, type ListName, type Lists } from '../../config/model.js';
import { utcDate } from '../../shared/calendar.js';
import { LaurelError } from '../../shared/errors.js';
import { limits } from '../../shared/limits.js';
import { idsText, integerText } from '../query.js';
import { type Caller, defineRoute, type Route, type Services } from '../route.js';
import { authorOf } from './author.js';
import { batch, batchResponses, batchStatus, deletedSchema, eachItem, type Issue, issueOf, issueSchema, uuid } from './requests.js';
import { type Resource, type Schemas, schemasOf, type Shown, shownObject } from './resource.js';

/** The maximum and the default number of rows of a page (contract, `limit`). */
const maxRows = 100;
const defaultRows = 10;
const maxSkip = 1_000_000;

/** A resource of any list. Its functions receive only objects of its own list. */
type AnyResource = Resource & { readonly one: string; readonly schemas: Schemas; readonly inside: readonly AnyResource[] };

/** Applies an item of a batch to the configuration. Throws an EditRefusal. */
type Act<I, T> = (document: ConfigDocument, item: I, context: EditContext) => { readonly document: ConfigDocument; readonly done: T };

/**
 * Applies the items of a batch in order, each to the result of those before it, and saves the outcome as one version. It yields to other
 * requests between two items: in the largest configuration one takes some milliseconds.
 */
async function editEach<I, T>(
  caller: Caller,
  items: readonly I[],
  { act, name }: { readonly act: Act<I, T>; readonly name: (item: I) => Pick<Issue, 'id'> },
): Promise<{ done: T[]; issues: Issue[] }> {
  const { services, tenant } = caller;
  return services.configuration.edit(tenant, { author: await authorOf(caller) }, async (before, context) => {
    let document = before;
    const done: T[] = [];
    const issues = await eachItem(
      items,
      async (item) => {
        await setImmediate();
        try {
          const changed = act(document, item, context);
          document = changed.document;
          done.push(changed.done);
          return undefined;
        } catch (error) {
          if (error instanceof EditRefusal) return error.message;
          throw error;
        }
      },
      name,
    );
    return { document, result: { done, issues } };
  });
}

interface PathIds {
  readonly systemId?: string | undefined;
  readonly id?: string | undefined;
}

/** The parameters of a path that has `{systemId}` or not, and of the path of one object below it. */
function params(path: string, own: boolean): z.ZodType<PathIds> {
  const system = { systemId: uuid };
  const one = { id: uuid };
  if (!path.includes('{systemId}')) return own ? z.object(one) : z.object({});
  return own ? z.object({ ...system, ...one }) : z.object(system);
}

/** The list of a path. Throws a 404 for an unknown points system. */
function placeOf<N extends ListName>(document: ConfigDocument, list: N, systemId: string | undefined): Place<N> {
  if (systemId !== undefined && !systemOf(document, systemId)) {
    throw new LaurelError('not_found', `There is no points system with the id ${systemId}.`);
  }
  return { list, system: systemId };
}

/** The objects of a response. */
async function showAll(
  resource: AnyResource,
  objects: readonly Lists[ListName][],
  { services, tenant, today, isNew = false }: { services: Services; tenant: number; today: string; isNew?: boolean },
): Promise<readonly Shown[]> {
  const shown = objects.map((object) => ({
    ...shownObject(resource, object, today),
    ...(isNew ? shownInside(resource, object, today) : {}),
  }));
  return resource.complete ? resource.complete({ services, tenant, objects, shown, isNew }) : shown;
}

/** The lists inside an object that has just been created. */
const shownInside = ({ inside }: AnyResource, object: object, today: string): object =>
  Object.fromEntries(
    inside.map((resource) => {
      const objects = listIn(object, resource.list);
      return [resource.list, objects.filter(({ archived }) => !archived).map((one) => shownObject(resource, one, today))];
    }),
  );

const todayOf = ({ now }: EditContext): string => now.slice(0, 'YYYY-MM-DD'.length);

/** The operations of resources, each with the resources of the lists inside its objects before it. */
export function resourceRoutes(resources: { readonly [N in ListName]: Resource<N> }): Route[] {
  const declared = resources as unknown as Readonly<Record<ListName, Resource>>;
  const any = (list: ListName): AnyResource => {
    const resource = declared[list];
    const inside = kinds[list].inside.map(any);
    return {
      ...resource,
      one: kinds[list].name,
      inside,
      schemas: schemasOf(
        resource,
        inside.map((each) => [each.list, each.schemas]),
      ),
    };
  };
  return (Object.keys(declared) as ListName[])
    .map(any)
    .flatMap((resource) => [listRoute(resource), createRoute(resource), updateRoute(resource), deleteRoute(resource), getRoute(resource)]);
}

/** Parameters of a list that name the value of a field. */
const filterParameters = ({ filters = {} }: AnyResource): z.ZodRawShape =>
  Object.fromEntries(Object.entries(filters).map(([field, schema]) => [field, schema.optional()]));

const page = z.object({ limit: integerText(1, maxRows, defaultRows), skip: integerText(0, maxSkip, 0) });

/** The objects whose fields have the values that a request names. */
function matching(objects: readonly Lists[ListName][], { filters = {} }: AnyResource, query: object): readonly Lists[ListName][] {
  const wanted = Object.entries(query).filter(([name, value]) => name in filters && value !== undefined);
  return objects.filter((object) => {
    const values = object as unknown as Readonly<Record<string, unknown>>;
    return wanted.every(([name, value]) => values[name] === value);
  });
}

function listRoute(resource: AnyResource): Route {
  const { list, path, operations, many, schemas } = resource;
  return defineRoute({
    method: 'get',
    path,
    summary: `List ${many}`,
    operation: `${operations}_list`,
    responses: { 200: z.array(schemas.shown) },
    params: params(path, false),
    query: page.extend(filterParameters(resource)) as typeof page,
    handle: async ({ services, tenant, params: { systemId }, query }) => {
      const { limit, skip } = query;
      const document = await services.configuration.read(tenant);
      const today = utcDate(await services.clock.now(tenant));
      const objects = matching(objectsAt(document, placeOf(document, list, systemId)), resource, query).slice(skip, skip + limit);
      return { status: 200, body: await showAll(resource, objects, { services, tenant, today }) };
    },
  });
}

function getRoute(resource: AnyResource): Route {
  const { list, path, operations, one, schemas } = resource;
  return defineRoute({
    method: 'get',
    path: `${path}/{id}`,
    summary: `Get a ${one}`,
    operation: `${operations}_get`,
    responses: { 200: schemas.shown },
    params: params(path, true),
    handle: async ({ services, tenant, params: { systemId, id = '' } }) => {
      const document = await services.configuration.read(tenant);
      const found = objectsAt(document, placeOf(document, list, systemId)).find((object) => object.id === id);
      if (!found) throw new LaurelError('not_found', `There is no ${one} with the id ${id}.`);
      const today = utcDate(await services.clock.now(tenant));
      return { status: 200, body: (await showAll(resource, [found], { services, tenant, today }))[0] };
    },
  });
}

function createRoute(resource: AnyResource): Route {
  const { list, path, operations, many, schemas, prepare } = resource;
  return defineRoute({
    method: 'post',
    path,
    summary: `Create ${many}`,
    operation: `${operations}_create`,
    changesConfiguration: true,
    responses: batchResponses(z.object({ created: z.array(schemas.created), issues: z.array(issueSchema) })),
    params: params(path, false),
    body: batch(schemas.create),
    handle: async ({ services, principal, tenant, params: { systemId }, body }) => {
      const { done, issues } = await editEach({ services, principal, tenant }, body, {
        act: (before, item, context) => {
          const today = todayOf(context);
          const fields = prepare ? prepare(item, undefined, today) : item;
          const { document, object } = createObject(before, placeOf(before, list, systemId), fields, context);
          return { document, done: { object, today } };
        },
        name: () => ({}),
      });
      const today = done[0]?.today ?? '';
      const objects = done.map(({ object }) => object);
      const shownObjects = await showAll(resource, objects, { services, tenant, today, isNew: true });
      return { status: batchStatus(done.length), body: { created: shownObjects, issues } };
    },
  });
}

function updateRoute(resource: AnyResource): Route {
  const { list, path, operations, many, schemas, prepare, changed } = resource;
  return defineRoute({
    method: 'patch',
    path,
    summary: `Update ${many}`,
    operation: `${operations}_update`,
    changesConfiguration: true,
    responses: { 200: z.object({ updated: z.array(schemas.shown), issues: z.array(issueSchema) }) },
    params: params(path, false),
    body: batch(schemas.update),
    handle: async ({ services, principal, tenant, params: { systemId }, body }) => {
      const { done, issues } = await editEach({ services, principal, tenant }, [...body.entries()], {
        act: (before, [index, item], context) => {
          if (body.findIndex(({ id }) => id === item.id) < index) throw new EditRefusal([{ code: 'repeated_id' }]);
          const today = todayOf(context);
          const place = placeOf(before, list, systemId);
          const was = objectsAt(before, place).find(({ id }) => id === item.id);
          const fields = prepare && was ? prepare(item, was, today) : item;
          const { document, object } = updateObject(before, place, { ...fields, id: item.id }, context);
          return { document, done: { object, fields: { ...item }, today } };
        },
        name: ([, { id }]) => ({ id }),
      });
      await changed?.(services, tenant, done);
      const today = done[0]?.today ?? '';
      const objects = done.map(({ object }) => object);
      return { status: 200, body: { updated: await showAll(resource, objects, { services, tenant, today }), issues } };
    },
  });
}

function deleteRoute({ list, path, operations, many, ids = uuid }: AnyResource): Route {
  return defineRoute({
    method: 'delete',
    path,
    summary: `Delete ${many}`,
    operation: `${operations}_delete`,
    changesConfiguration: true,
    responses: { 200: z.object({ deleted: z.array(deletedSchema), issues: z.array(issueSchema) }) },
    params: params(path, false),
    query: z.object({ ids: idsText(ids, limits.maxBatchItems) }),
    handle: async ({ services, principal, tenant, params: { systemId }, query }) => {
      const author = await authorOf({ services, principal, tenant });
      const body = await services.configuration.edit(tenant, { author }, async (document, context) => {
        const { document: left, ...result } = await archiveAll(document, placeOf(document, list, systemId), query.ids, context);
        return { document: left, result };
      });
      return { status: 200, body };
    },
  });
}

/** Archives as many as it can. An object that another one of the batch refers to can be archived after that one, so it retries. */
async function archiveAll(
  before: ConfigDocument,
  place: Place,
  ids: readonly string[],
  context: EditContext,
): Promise<{ document: ConfigDocument; deleted: z.infer<typeof deletedSchema>[]; issues: Issue[] }> {
  const refused = new Map(ids.map((id, index) => [index, { id, message: '' }]));
  const gone: { id: string }[] = [];
  let document = before;
  let tried = Infinity;
  while (refused.size > 0 && refused.size < tried) {
    tried = refused.size;
    for (const [index, { id }] of refused) {
      await setImmediate();
      try {
        document = archiveObject(document, place, id, context);
        gone.push({ id });
        refused.delete(index);
      } catch (error) {
        if (!(error instanceof EditRefusal)) throw error;
        refused.set(index, { id, message: error.message });
      }
    }
  }
  const issues = [...refused].map(([index, { id, message }]) => issueOf(index, { id }, message));
  return { document, deleted: gone, issues };
}
