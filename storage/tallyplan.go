package storage

import (
	"context"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// tallyPlan says where the parts of a window are read from, for what comes from hops and for what was judged.
type tallyPlan struct {
	hops, judged cover
	known        *tallyState
}

// exactReports is up to how many hops of a window and its baseline reports are read from hops alone.
const exactReports = 200_000

// Reports trail the watermarks, because spans arrive some time after they began, and are judged later still.
const (
	lateHops   = 2 * time.Minute
	lateJudged = 5 * time.Minute
)

// tallyState is what is known of the tallies, whatever the window.
type tallyState struct {
	now         time.Time
	asked       time.Time // by the clock here
	progress    map[Step]time.Time
	keep        map[Step]time.Duration
	hours, days []time.Time          // dirty
	spans       map[time.Time]uint64 // of days
}

// stateAge is how long a state is good for: what a worker counts meanwhile is read a moment later.
const stateAge = 5 * time.Second

// ready reports whether a worker has counted.
func (s *tallyState) ready() bool {
	for _, step := range []Step{StepStretches, StepTallyHours, StepTallyDays, StepFindings, StepAccounts} {
		if s.progress[step].IsZero() {
			return false
		}
	}
	return len(s.hours) <= maxDirty && len(s.days) <= maxDirty
}

// tallyState answers with the state, or with one that was asked for a moment ago.
func (db *DB) tallyState(ctx context.Context) (*tallyState, error) {
	db.tallies.Lock()
	known := db.tallies.state
	db.tallies.Unlock()
	if known != nil && time.Since(known.asked) < stateAge {
		return known, nil
	}
	s := &tallyState{asked: time.Now(), progress: map[Step]time.Time{}, keep: map[Step]time.Duration{}, spans: map[time.Time]uint64{}}
	err := db.ask(ctx, tallyFile("tally_state"), func(rows driver.Rows) error {
		var kind, name string
		var value int64
		if err := rows.Scan(&kind, &name, &value); err != nil {
			return err
		}
		at := time.Unix(0, value).UTC()
		switch kind {
		case "now":
			s.now = at
		case "progress":
			s.progress[Step(name)] = at
		case "keep":
			if s.keep[Step(name)] = time.Duration(value) * time.Second; value == 0 {
				s.keep[Step(name)] = 100 * 365 * 24 * time.Hour
			}
		case "spans":
			day, err := strconv.ParseInt(name, 10, 64)
			if err != nil {
				return err
			}
			s.spans[time.Unix(0, day).UTC()] = uint64(value)
		case "hour":
			s.hours = append(s.hours, at)
		case "day":
			s.days = append(s.days, at)
		}
		return nil
	}, map[string]any{"limit": maxDirty + 1})
	if err == nil {
		if at, ok := judgedByAll(s.progress); ok {
			s.progress[StepVerdicts] = at
		}
		if s.ready() {
			db.tallies.Lock()
			db.tallies.state = s
			db.tallies.Unlock()
		}
	}
	return s, question("state of the tallies", err)
}

// planTally plans a window; nil where hops are few and all there, or where a worker has not counted yet. Wide encloses what the report
// looks at, and width is that of the buckets of the answer.
func (db *DB) planTally(ctx context.Context, w, wide Window, width time.Duration) (*tallyPlan, error) {
	known, err := db.tallyState(ctx)
	if err != nil || !known.ready() {
		return nil, err
	}
	if known.within(wide) > db.exactReports {
		return known.plan(w, width), nil
	}
	var hops, entries, rolled uint64
	parameters := wide.parameters()
	parameters["exact"] = db.exactReports
	err = db.ask(ctx, tallyFile("tally_few"), func(rows driver.Rows) error { return rows.Scan(&hops, &entries, &rolled) }, parameters)
	if err != nil || hops <= db.exactReports && entries >= rolled {
		return nil, question("cover of a report", err)
	}
	return known.plan(w, width), nil
}

// within is how many hops the whole days of a window have at least.
func (s *tallyState) within(w Window) (spans uint64) {
	for day, n := range s.spans {
		if !day.Before(w.From) && !day.Add(24*time.Hour).After(w.To) {
			spans += n
		}
	}
	return spans
}

// asOne is the width of an answer about a window as one: any buckets will do.
const asOne = 24 * time.Hour

// plan plans one window for an answer with buckets of a width, whole hours.
func (s *tallyState) plan(w Window, width time.Duration) *tallyPlan {
	state := rollups{
		base: Stretch, now: s.now.Add(time.Since(s.asked)), watermark: s.progress[StepStretches].Add(-lateHops),
		keepMinutes: s.keep[StepStretches] - Slack, keepHours: s.keep[StepTallyHours], dirtyHours: s.hours, dirtyDays: s.days,
	}
	plan := &tallyPlan{hops: state.plan(w, width), known: s}
	state.base, state.keepMinutes, state.dirtyHours = time.Hour, state.keepHours, nil
	state.watermark = earliest(s.progress[StepVerdicts], s.progress[StepFindings], s.progress[StepAccounts]).Add(-lateJudged)
	plan.judged = state.plan(w, width)
	plan.judged.minutes = plan.judged.hours
	return plan
}

// over plans another window that the same report looks at.
func (p *tallyPlan) over(w Window) *tallyPlan { return p.known.plan(w, asOne) }

// Slack is subtracted from a retention before it is relied on: rows are dropped by parts, some time after their end.
const Slack = 24 * time.Hour

func earliest(first time.Time, others ...time.Time) time.Time {
	for _, at := range others {
		if at.Before(first) {
			first = at
		}
	}
	return first
}

func (p *tallyPlan) parameters() map[string]any {
	all := p.hops.parameters()
	for name, value := range p.judged.parameters() {
		if name != "from" && name != "to" {
			all["judged_"+name] = value
		}
	}
	all["width"] = int64(time.Hour)
	return all
}

var tallyOf = regexp.MustCompile(`@tally\((\w+)\)`)

// statement puts in for each @tally(SUBJECT) of a statement what the plan reads.
func (p *tallyPlan) statement(name string) string {
	return tallyOf.ReplaceAllStringFunc(tallyFile(name), func(m string) string { return p.rows(tallyOf.FindStringSubmatch(m)[1]) })
}

// rows is the statement of a subject's rows: of days, of hours and stretches where days do not reach or are not ready, and of facts where
// no bucket is.
func (p *tallyPlan) rows(subject string) string {
	c := p.hops
	if judged(subject) {
		c = p.judged
	}
	parts := c.buckets(strings.ReplaceAll(tallyFile("tally_part"), "@subject", subject), StepTallyDays, StepTallyHours, StepStretches)
	if c.edged() {
		parts = append(parts, "    SELECT measure, service, bucket AS start, route, stage, peer, detail, seen, represented, total, most, last, spread, examples\n"+
			"    FROM\n    (\n"+factsOf(subject, edges(""), edges(" toIntervalHour(1)"))+"    )\n    WHERE ({service:String} = '' OR service = {service:String}) AND NOT has({not_service:Array(String)}, service)\n")
	}
	sql := "(\n" + strings.Join(parts, "    UNION ALL\n") + ")"
	if judged(subject) {
		sql = strings.NewReplacer("{edge_", "{judged_edge_", "{minute_", "{judged_minute_", "{hour_", "{judged_hour_", "{day_", "{judged_day_", "{dirty_", "{judged_dirty_").Replace(sql)
	}
	return sql
}

// edges is the condition on ts of what lies around the stretches, widened to both sides if something is given.
func edges(by string) string {
	less, more := "", ""
	if by != "" {
		less, more = " -"+by, " +"+by
	}
	at := func(name string) string { return "fromUnixTimestamp64Nano({" + name + ":Int64}, 'UTC')" }
	return "ts >= " + at("edge_0") + less + " AND ts < " + at("edge_1") + more + " OR ts >= " + at("edge_2") + less + " AND ts < " + at("edge_3") + more
}

// tallied asks a statement of the tallies.
func tallied[Row any](ctx context.Context, db *DB, name string, plan *tallyPlan, parameters map[string]any, columns func(*Row) []any) ([]Row, error) {
	all := map[string]any{"not_service": []string{}}
	maps.Copy(all, parameters)
	maps.Copy(all, plan.parameters())
	return rowsOf(ctx, db, "report "+name+" from tallies", plan.statement("tally_"+name), all, columns)
}

// PlanReport decides where a report is answered from: from hops where they are few and all there or the question asks for what only they
// know, else from tallies and, where these are not ready, from what they are made of. A question that is not planned is planned by the
// report.
func (db *DB) PlanReport(ctx context.Context, q ReportQuestion) (ReportQuestion, error) {
	if q.planned {
		return q, nil
	}
	q.planned = true
	if q.EntryFilter != (EntryFilter{}) {
		return q, nil // tallies do not know these
	}
	plan, err := db.planTally(ctx, q.Window, Window{From: q.Baseline().From, To: q.To}, asOne)
	q.tally = plan
	return q, err
}

// Approximate reports whether lengths come from the buckets of tallies: at most 2.2 % off. Counts are exact always.
func (q ReportQuestion) Approximate() bool { return q.tally != nil }
