/** The operations of every resource of the configuration: list, create, update, delete, get. resources.ts declares the resources. */
import { z } from 'zod';
import { EditRefusal, objectsAt, type Place, systemOf } from '../../config/change/edits.js';
import { kinds } from '../../config/schema/kinds.js';
import { type ConfigDocument, type ConfigObject, listIn, type ListName, type Lists } from '../../config/schema/model.js';
import { utcDate } from '../../shared/calendar.js';
import { LaurelError } from '../../shared/errors.js';
import { limits } from '../../shared/limits.js';
import type { Edit, PlanContext } from '../../threads/config-tasks.js';
import { configWork, objectsOfEdits } from '../../threads/threads.js';
import { idsText, integerText } from '../query.js';
import { type Caller, defineRoute, type Route, type Services } from '../route.js';
import { authorOf } from './author.js';
import { batch, batchResponses, batchStatus, deletedSchema, type Issue, issueOf, issueSchema, uuid } from './requests.js';
import { fixedFields, type Resource, type Schemas, schemasOf, type Shown, shownObject } from './resource.js';

/** The maximum and the default number of rows of a page (contract, `limit`). */
const maxRows = 100;
const defaultRows = 10;
const maxSkip = 1_000_000;

/** A resource of any list. Its functions receive only objects of its own list. */
type AnyResource = Resource & { readonly one: string; readonly schemas: Schemas; readonly inside: readonly AnyResource[] };

/** How the items of a batch change the configuration. */
interface Editing<I> {
  readonly list: ListName;
  readonly systemId: string | undefined;
  /** What an item does, from the configuration before the batch. Throws an EditRefusal. */
  readonly editOf: (item: I, before: ConfigDocument, today: string) => Edit;
  readonly name: (item: I) => Pick<Issue, 'id'>;
}

/** An object that a batch has created or changed, and its item. */
interface Done<I> {
  readonly item: I;
  readonly object: Lists[ListName];
}

/** Applies the items of a batch in order, each to the result of those before it, and saves the outcome as one version. */
async function editEach<I>(
  caller: Caller,
  items: readonly I[],
  { list, systemId, editOf, name }: Editing<I>,
): Promise<{ done: Done<I>[]; issues: Issue[]; today: string }> {
  const { services, tenant } = caller;
  return services.configuration.edit(tenant, { author: await authorOf(caller) }, async (before, context) => {
    const place = placeOf(before, list, systemId);
    const today = todayOf(context);
    const prepared = items.map((item): Edit | EditRefusal => {
      try {
        return editOf(item, before, today);
      } catch (error) {
        if (error instanceof EditRefusal) return error;
        throw error;
      }
    });
    const edits = prepared.flatMap((edit) => (edit instanceof EditRefusal ? [] : [edit]));
    const edited = await configWork('edit', { document: before, context, place, edits }, objectsOfEdits(before, edits));
    const outcomes = edited.outcomes.values();
    const done: Done<I>[] = [];
    const issues: Issue[] = [];
    for (const [index, item] of items.entries()) {
      const edit = prepared[index];
      const outcome = edit instanceof EditRefusal ? { refusal: edit.message } : outcomes.next().value;
      if (outcome && 'refusal' in outcome) issues.push(issueOf(index, name(item), outcome.refusal));
      else if (outcome?.object) done.push({ item, object: outcome.object as Lists[ListName] });
    }
    return { document: edited.isChanged ? edited.document : before, result: { done, issues, today } };
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

const todayOf = ({ now }: Pick<PlanContext, 'now'>): string => now.slice(0, 'YYYY-MM-DD'.length);

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
      const { done, issues, today } = await editEach({ services, principal, tenant }, body, {
        list,
        systemId,
        editOf: (item, _before, day) => ({ create: prepare ? prepare(item, undefined, day) : item }),
        name: () => ({}),
      });
      const objects = done.map(({ object }) => object);
      const shownObjects = await showAll(resource, objects, { services, tenant, today, isNew: true });
      return { status: batchStatus(done.length), body: { created: shownObjects, issues } };
    },
  });
}

/** Throws an EditRefusal for an update of a field that can't change. */
function checkFixed(resource: AnyResource, was: ConfigObject, sent: object): void {
  const [before, after] = [was, sent] as unknown as Readonly<Record<string, unknown>>[];
  const field = fixedFields(resource).find((name) => after?.[name] !== undefined && after[name] !== before?.[name]);
  if (field !== undefined)
    throw new EditRefusal([{ code: 'kept_field', subject: { kind: resource.one, key: was.key }, field, kind: resource.one }]);
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
      const { done, issues, today } = await editEach({ services, principal, tenant }, [...body.entries()], {
        list,
        systemId,
        editOf: ([index, item], before, day) => {
          if (body.findIndex(({ id }) => id === item.id) < index) throw new EditRefusal([{ code: 'repeated_id' }]);
          const was = objectsAt(before, placeOf(before, list, systemId)).find(({ id }) => id === item.id);
          if (was) checkFixed(resource, was, item);
          const fields = prepare && was ? prepare(item, was, day) : item;
          return { update: { ...fields, id: item.id } };
        },
        name: ([, { id }]) => ({ id }),
      });
      const changes = done.map(({ item: [, item], object }) => ({ object, fields: { ...item } }));
      await changed?.(services, tenant, changes);
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
  context: PlanContext,
): Promise<{ document: ConfigDocument; deleted: z.infer<typeof deletedSchema>[]; issues: Issue[] }> {
  let refused = ids.map((id, index) => ({ id, index, message: '' }));
  const gone: { id: string }[] = [];
  let document = before;
  let tried = Infinity;
  while (refused.length > 0 && refused.length < tried) {
    tried = refused.length;
    const edits = refused.map(({ id }) => ({ archive: id }));
    const edited = await configWork('edit', { document, context, place, edits }, objectsOfEdits(document, edits));
    if (edited.isChanged) document = edited.document;
    const outcomes = refused.map((item, at) => ({ ...item, outcome: edited.outcomes[at] }));
    gone.push(...outcomes.flatMap(({ id, outcome }) => (outcome && 'refusal' in outcome ? [] : [{ id }])));
    refused = outcomes.flatMap(({ id, index, outcome }) =>
      outcome && 'refusal' in outcome ? [{ id, index, message: outcome.refusal }] : [],
    );
  }
  const issues = refused.map(({ id, index, message }) => issueOf(index, { id }, message));
  return { document, deleted: gone, issues };
}
