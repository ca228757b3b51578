/**
 * The model: what docs/rules.md and the semantics say about what an event, a call, a configuration change or the passing of time does to
 * a user, in plain TypeScript. It shares no code with the engine (types of the configuration document apart), keeps everything in memory
 * and takes the shortest way to say what is meant; test/model.self.test.ts holds it against examples that were worked out by hand.
 */
import type { Achievement, ConfigDocument } from '../../../src/config/model.js';
import {
  allAchievementsBody,
  backfill,
  completeByCall,
  completeByEvent,
  count as countForAchievements,
  metricAchievementsBody,
  userAchievementBody,
  userAchievementsBody,
} from './achievements.js';
import { add, amount, isInRange, shown } from './decimal.js';
import { boardsBody, finalBody, movesBody, placeBody, rankingsBody, type Page } from './leaderboard-answers.js';
import { enterChanges, fill, fillsAt, finalise, finalisesAt, groupsOf, refill, stateOf, trim, type Change, type Move } from './leaderboards.js';
import { earn, earnedBody, nextHour, pointsBody, settleTimeTriggers, type Earned } from './points.js';
import { isOpen } from './runs.js';
import { rankedStreaks, streakBody, userStreakBody } from './streak-answers.js';
import * as streaks from './streaks.js';
import type { EventRequest, IdentifyMode, Operations, StreakPreferences } from './subject.js';
import { isDate, startOfDay } from './time.js';
import { change, checkProperties, draftOf, knownUser, localDayOf, newUser, reach, userBody, zoneOf, type User, type UserInCall, type UserProperties } from './users.js';
import { byKey, Refused, sentAttributes, type Answer, type World } from './world.js';
