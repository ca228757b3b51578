import { useQuery } from '@tanstack/preact-query';
import { useMemo } from 'preact/hooks';
import { useScope } from '../../scope/scope.js';
import { Chart, type Series } from '../../ui/chart.js';
import { Panel } from '../../ui/page.js';
import { Empty, Loaded } from '../../ui/states.js';
import { dateAfter, pointLines, sumByDay, topLines, type AnalyticsDays } from './analytics.js';

const chartsRefreshMs = 60_000;

/** The activity of the last days, as charts. */
export function Charts({ days, lastDay }: { readonly days: number; readonly lastDay: string }) {
  const { api } = useScope();
  const query = { from: dateAfter(lastDay, 1 - days), until: lastDay };
  const analytics = useQuery({ ...api.admin.query('/analytics/days', { params: { query } }), refetchInterval: chartsRefreshMs });
  return <Loaded of={analytics}>{(data) => <AllCharts analytics={data} />}</Loaded>;
}

function seriesOf(analytics: AnalyticsDays) {
  const { days, events, activeUsers, activeUsers30, newUsers, achievements } = analytics;
  const completions = sumByDay(
    achievements.map((one) => one.completions),
    days.length,
  );
  return {
    events: [{ label: 'Events', values: events }],
    active: [
      { label: 'On the day', values: activeUsers },
      { label: 'In 30 days', values: activeUsers30 },
    ],
    new: [{ label: 'New users', values: newUsers }],
    points: pointLines(analytics),
    completions: [{ label: 'Completions', values: completions }],
    byAchievement: topLines(
      achievements.map(({ name, completions: values }) => ({ label: name, values })),
      'Other achievements',
    ),
  };
}

function AllCharts({ analytics }: { readonly analytics: AnalyticsDays }) {
  const { href } = useScope();
  const { days } = analytics;
  // A chart draws again when its series are others.
  const series = useMemo(() => seriesOf(analytics), [analytics]);
  return (
    <>
      <ChartPanel title="Events per day" days={days} series={series.events} kind="bars" />
      <ChartPanel title="Active users" days={days} series={series.active} />
      <ChartPanel title="New users per day" days={days} series={series.new} kind="bars" />
      {series.points.length > 0 ? (
        <ChartPanel title="Points awarded by trigger" days={days} series={series.points} />
      ) : (
        <Panel title="Points awarded by trigger">
          <Empty>
            No points were awarded. <a href={href('/configuration/points')}>Check the triggers</a>.
          </Empty>
        </Panel>
      )}
      <ChartPanel
        title="Achievements completed"
        days={days}
        series={series.byAchievement.length > 0 ? series.byAchievement : series.completions}
      />
    </>
  );
}

interface ChartPanelProps {
  readonly title: string;
  readonly days: readonly string[];
  readonly series: readonly Series[];
  readonly kind?: 'line' | 'bars';
}

function ChartPanel({ title, ...chart }: ChartPanelProps) {
  return (
    <Panel title={title}>
      <Chart title={title} {...chart} />
    </Panel>
  );
}
