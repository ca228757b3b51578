import { z } from 'zod';
import { readBoosts, readLevels, readSystem, readUserBoosts, summariseLevels, summarisePoints } from '../engine/points.js';
import { boostShape, levelCountShape, levelShape, rangeShape, systemWithTriggersShape } from '../responses/points.js';
import { attributeFilters, booleanText, keyText } from './query.js';
import { defineRoute, type Route } from './route.js';
import { idSchema } from '../engine/user-properties.js';

const params = z.object({ key: keyText('points system') });
const noQuery = z.object({});

export const pointsRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/points/{key}',
    operation: 'points_system',
    answers: { 200: systemWithTriggersShape },
    summary: 'Read a points system and its active triggers',
    access: 'anyone',
    params,
    query: noQuery,
    body: null,
    handle: async ({ services, tenant, params: { key } }) => ({ status: 200, body: await readSystem(services.engine, tenant, key) }),
  }),
  defineRoute({
    method: 'get',
    path: '/points/{key}/summary',
    operation: 'points_summary',
    answers: { 200: z.array(rangeShape) },
    summary: 'Read how many users have how many points',
    access: 'anyone',
    params,
    query: z.object({ userAttributes: attributeFilters }),
    body: null,
    handle: async ({ services, tenant, params: { key }, query }) => ({
      status: 200,
      body: await summarisePoints(services, tenant, key, query.userAttributes),
    }),
  }),
  defineRoute({
    method: 'get',
    path: '/points/{key}/levels',
    operation: 'points_levels',
    answers: { 200: z.array(levelShape) },
    summary: 'Read the levels of a points system, the lowest first',
    access: 'anyone',
    params,
    query: noQuery,
    body: null,
    handle: async ({ services, tenant, params: { key } }) => ({ status: 200, body: await readLevels(services.engine, tenant, key) }),
  }),
  defineRoute({
    method: 'get',
    path: '/points/{key}/level-summary',
    operation: 'points_level_summary',
    answers: { 200: z.array(levelCountShape) },
    summary: 'Read how many users have each level',
    access: 'anyone',
    params,
    query: noQuery,
    body: null,
    handle: async ({ services, tenant, params: { key } }) => ({ status: 200, body: await summariseLevels(services, tenant, key) }),
  }),
  defineRoute({
    method: 'get',
    path: '/points/{key}/boosts',
    operation: 'points_boosts',
    answers: { 200: z.array(boostShape) },
    summary: "Read the boosts of a points system, without users' own",
    access: 'anyone',
    params,
    query: z.object({ includeFinished: booleanText }),
    body: null,
    handle: async ({ services, tenant, params: { key }, query }) => ({
      status: 200,
      body: await readBoosts(services, tenant, key, query.includeFinished),
    }),
  }),
  defineRoute({
    method: 'get',
    path: '/users/{id}/points/{key}/boosts',
    operation: 'users_points_boosts',
    answers: { 200: z.array(boostShape) },
    summary: 'Read the boosts that apply to a user now',
    access: ({ params: { id } }) => [id],
    params: params.extend({ id: idSchema }),
    query: noQuery,
    body: null,
    handle: async ({ services, tenant, params: { id, key } }) => ({
      status: 200,
      body: await readUserBoosts(services.engine, tenant, id, key),
    }),
  }),
];
