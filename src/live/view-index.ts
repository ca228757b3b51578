import type { Announcement, BoardChange } from './announcement.js';
import type { BoardPlace, BoardView } from './board-view.js';

const none: ReadonlySet<BoardView> = new Set();

/** Sets of views by key. A set without views is removed. */
class ViewSets<K> {
  private readonly sets = new Map<K, Set<BoardView>>();

  get isEmpty(): boolean {
    return this.sets.size === 0;
  }

  get(key: K): ReadonlySet<BoardView> {
    return this.sets.get(key) ?? none;
  }

  add(key: K, view: BoardView): void {
    const views = this.sets.get(key);
    if (views) views.add(view);
    else this.sets.set(key, new Set([view]));
  }

  delete(key: K, view: BoardView): void {
    const views = this.sets.get(key);
    views?.delete(view);
    if (views?.size === 0) this.sets.delete(key);
  }
}

/** JSON, since a group may contain any character. */
const groupKey = ({ no, group }: BoardPlace): string => JSON.stringify([no, group]);
const userKey = ({ no, group }: BoardPlace, user: string): string => JSON.stringify([no, group, user]);

/** The views of a tenant by what announcements name: leaderboard and group, and for lists of users each of them. */
export class ViewIndex {
  private readonly all = new Set<BoardView>();
  /** Views that have not been read, or could not be: any change may be theirs. */
  private readonly unread = new Set<BoardView>();
  private readonly places = new Map<BoardView, BoardPlace>();
  private readonly pages = new Set<BoardView>();
  private readonly ofBoard = new ViewSets<number>();
  private readonly pagesOfGroup = new ViewSets<string>();
  /** Lists, by group and user. */
  private readonly listsOfGroup = new ViewSets<string>();
  /** All views of a group, lists included. */
  private readonly ofGroup = new ViewSets<string>();
  private readonly listsOfUser = new ViewSets<string>();

  add(view: BoardView): void {
    this.all.add(view);
    this.unread.add(view);
    if (!view.options.query.userIds) this.pages.add(view);
    for (const user of view.options.query.userIds ?? []) this.listsOfUser.add(user, view);
  }

  delete(view: BoardView): void {
    this.all.delete(view);
    this.unread.delete(view);
    this.pages.delete(view);
    for (const user of view.options.query.userIds ?? []) this.listsOfUser.delete(user, view);
    this.leave(view);
  }

  /** A view has been read, or could not be: it may be of another leaderboard with the same key, or of another group, than before. */
  update(view: BoardView): void {
    const [before, after] = [this.places.get(view), view.place];
    if (!this.all.has(view) || (before && after && groupKey(before) === groupKey(after))) return;
    this.leave(view);
    if (after) this.enter(view, after);
    else this.unread.add(view);
  }

  /** The views that may show what is announced. A list of users is affected only by these users: its ranks on the leaderboard may be older. */
  affected({ changes, deleted }: Announcement): Iterable<BoardView> {
    if (!changes) return this.all;
    const found = new Set(this.unread);
    const add = (views: Iterable<BoardView>): void => {
      for (const view of views) found.add(view);
    };
    for (const change of changes.boards) {
      for (const views of this.viewsOf(change)) for (const view of views) if (view.showsRun(change.run)) found.add(view);
    }
    if (deleted.length > 0) add(this.pages);
    const renamed = new Set(changes.profiles);
    if (renamed.size > 0) for (const page of this.pages) if (page.showsAny(renamed)) found.add(page);
    for (const user of [...renamed, ...deleted]) add(this.listsOfUser.get(user));
    return found;
  }

  private viewsOf({ no, group, users }: BoardChange): ReadonlySet<BoardView>[] {
    if (group === null) return [this.ofBoard.get(no)];
    const place = { no, group };
    if (users === null) return [this.ofGroup.get(groupKey(place))];
    const lists = this.listsOfGroup.isEmpty ? [] : users.map((user) => this.listsOfGroup.get(userKey(place, user)));
    return [this.pagesOfGroup.get(groupKey(place)), ...lists];
  }

  private enter(view: BoardView, place: BoardPlace): void {
    const { userIds } = view.options.query;
    this.unread.delete(view);
    this.places.set(view, place);
    this.ofBoard.add(place.no, view);
    this.ofGroup.add(groupKey(place), view);
    if (!userIds) this.pagesOfGroup.add(groupKey(place), view);
    for (const user of userIds ?? []) this.listsOfGroup.add(userKey(place, user), view);
  }

  private leave(view: BoardView): void {
    const place = this.places.get(view);
    if (!place) return;
    const { userIds } = view.options.query;
    this.places.delete(view);
    this.ofBoard.delete(place.no, view);
    this.ofGroup.delete(groupKey(place), view);
    this.pagesOfGroup.delete(groupKey(place), view);
    for (const user of userIds ?? []) this.listsOfGroup.delete(userKey(place, user), view);
  }
}
