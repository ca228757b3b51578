import { z } from 'zod';
import { readBoosts, readLevels, readSystem, readUserBoosts, summariseLevels, summarisePoints } from '../engine/points.js';
import { boostShape, levelCountShape, levelShape, rangeShape, systemWithTriggersShape } from '../responses/points.js';
import { attributeFilters, booleanText, keyText } from './query.js';
import { defineRoute, type Route } from './route.js';
import { idSchema } from '../engine/user-properties.js';

const params = z.object({ key: keyText('points system') });

export const pointsRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/points/{key}',
    operation: 'points_system',
    description: 'Triggers of locked achievements are left out.',
    responses: { 200: systemWithTriggersShape },
    summary: 'Read a points system and its active triggers',
    access: 'anyone',
    params,
    handle: async ({ services, tenant, params: { key } }) => ({ status: 200, body: await readSystem(services.engine, tenant, key) }),
  }),
  defineRoute({
    method: 'get',
    path: '/points/{key}/summary',
    operation: 'points_summary',
    description:
      'The first range is users with 0 points. Up to ten ranges of one width follow, up to the highest total. A limited ' +
      'application key with `userAttributes` gets a 403.',
    responses: { 200: z.array(rangeShape) },
    summary: 'Count users by ranges of points',
    access: 'anyone',
    params,
    query: z.object({ userAttributes: attributeFilters }),
    filters: ['userAttributes'],
    handle: async ({ services, tenant, params: { key }, query }) => ({
      status: 200,
      body: await summarisePoints(services, tenant, key, query.userAttributes),
    }),
  }),
  defineRoute({
    method: 'get',
    path: '/points/{key}/levels',
    operation: 'points_levels',
    responses: { 200: z.array(levelShape) },
    summary: 'Read the levels of a points system, the lowest first',
    access: 'anyone',
    params,
    handle: async ({ services, tenant, params: { key } }) => ({ status: 200, body: await readLevels(services.engine, tenant, key) }),
  }),
  defineRoute({
    method: 'get',
    path: '/points/{key}/level-summary',
    operation: 'points_level_summary',
    description: 'A level of 0 points is the level of every user without a higher one. A points system without levels is a 422.',
    responses: { 200: z.array(levelCountShape) },
    summary: 'Count users by level',
    access: 'anyone',
    params,
    handle: async ({ services, tenant, params: { key } }) => ({ status: 200, body: await summariseLevels(services, tenant, key) }),
  }),
  defineRoute({
    method: 'get',
    path: '/points/{key}/boosts',
    operation: 'points_boosts',
    description: '`status` uses the UTC date.',
    responses: { 200: z.array(boostShape) },
    summary: 'Read the boosts of a points system that apply to all users',
    access: 'anyone',
    params,
    query: z.object({ includeFinished: booleanText }),
    handle: async ({ services, tenant, params: { key }, query }) => ({
      status: 200,
      body: await readBoosts(services, tenant, key, query.includeFinished),
    }),
  }),
  defineRoute({
    method: 'get',
    path: '/users/{id}/points/{key}/boosts',
    operation: 'users_points_boosts',
    description: "Those that apply on the user's local date, with the user's current attributes.",
    responses: { 200: z.array(boostShape) },
    summary: 'Read the boosts that apply to a user now',
    access: ({ params: { id } }) => [id],
    params: params.extend({ id: idSchema }),
    handle: async ({ services, tenant, params: { id, key } }) => ({
      status: 200,
      body: await readUserBoosts(services.engine, tenant, id, key),
    }),
  }),
];
