package storage

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// cover says where the parts of a window are read from: days inside hours inside minutes of the rollups, hops around them.
// Every pair is a half-open range; an empty one lies at the begin of the range around it.
type cover struct {
	Window
	minutes, hours, days                Window
	dirtyMinutes, dirtyHours, dirtyDays []time.Time
}

// rollups is the state of the rollups that a cover is planned by.
type rollups struct {
	base                     time.Duration // length of the shortest buckets; a minute if zero
	now                      time.Time
	watermark                time.Time // of the minutes, by arrival
	keepMinutes, keepHours   time.Duration
	dirtyMinutes, dirtyHours []time.Time
	dirtyDays                []time.Time
}

// expiry is how much earlier than its retention a rollup is given up.
const expiry = time.Hour

// plan covers a window whose answer has buckets of one width.
func (r rollups) plan(w Window, width time.Duration) cover {
	const day = 24 * time.Hour
	c := cover{Window: w, minutes: Window{w.From, w.From}}
	settled := w.To
	if r.watermark.Before(settled) {
		settled = r.watermark
	}
	base := cmp.Or(r.base, time.Minute)
	if from, to := ceil(w.From, base), settled.Truncate(base); from.Before(to) {
		c.minutes = Window{from, to}
	}
	inside := func(outer Window, length time.Duration, keep time.Duration) Window {
		from, to := ceil(outer.From, length), outer.To.Truncate(length)
		if width%length != 0 || !from.Before(to) || from.Before(r.now.Add(expiry-keep)) {
			return Window{outer.From, outer.From}
		}
		return Window{from, to}
	}
	c.hours = inside(c.minutes, time.Hour, r.keepHours)
	if c.days = (Window{c.hours.From, c.hours.From}); width%day == 0 {
		outer := c.hours
		older := !outer.From.Before(outer.To) // than hours are kept
		if older {
			outer = c.minutes
		}
		if from, to := ceil(outer.From, day), outer.To.Truncate(day); from.Before(to) {
			c.days = Window{from, to}
			if older {
				c.hours = c.days
			}
		}
	}
	oldest := r.now.Add(expiry - r.keepMinutes)
	if c.minutes.From.Before(oldest) { // before the first whole hour, minutes may be gone
		if c.hours.From.Before(c.hours.To) {
			c.minutes.From = c.hours.From
		} else {
			c.minutes = Window{w.From, w.From}
			c.hours, c.days = c.minutes, c.minutes
		}
	}
	if c.hours.From.Before(c.hours.To) && c.hours.To.Before(oldest) { // and so after the last
		c.minutes.To = c.hours.To
	}
	c.descend(r, oldest)
	return c
}

// descend replaces what is dirty by what it is made of: days by hours, hours by minutes, minutes by hops. Of hours so old that
// their minutes may be gone, the hops are read.
func (c *cover) descend(r rollups, oldest time.Time) {
	minutes, hours, days := map[time.Time]bool{}, map[time.Time]bool{}, map[time.Time]bool{}
	for _, at := range r.dirtyMinutes {
		minutes[at] = true
		hours[at.Truncate(time.Hour)] = true
	}
	for _, at := range r.dirtyHours {
		hours[at] = true
	}
	for at := range hours {
		days[at.Truncate(24*time.Hour)] = true
		if at.Before(oldest) {
			for i := range time.Duration(60) {
				minutes[at.Add(i*time.Minute)] = true
			}
		}
	}
	for _, at := range r.dirtyDays {
		days[at] = true
	}
	sorted := func(set map[time.Time]bool) []time.Time { return slices.SortedFunc(maps.Keys(set), time.Time.Compare) }
	c.dirtyMinutes, c.dirtyHours, c.dirtyDays = sorted(minutes), sorted(hours), sorted(days)
}

// buckets is the statements of the buckets that a cover is read from, each made of a part: of days, of hours where days do not reach or
// are dirty, and so of the shortest ones.
func (c cover) buckets(part string, days, hours, minutes Step) []string {
	of := func(table Step, name, clean string) string {
		return strings.NewReplacer("@table", string(table), "@from", name+"_0", "@to", name+"_1", "@clean", clean).Replace(part)
	}
	clean := func(name string) string {
		return "(empty({dirty_" + name + "s:Array(Int64)}) OR start NOT IN {dirty_" + name + "s:Array(Int64)})"
	}
	// Outside of the longer buckets, and inside of those that are dirty.
	outside := func(name string, length time.Duration, dirty []time.Time) string {
		at := func(end string) string { return "fromUnixTimestamp64Nano({" + end + ":Int64}, 'UTC')" }
		condition := "at < " + at(name+"_0") + " OR at >= " + at(name+"_1")
		if len(dirty) > 0 {
			condition += " OR at >= " + at("dirty_"+name+"_0") + " AND at < " + at("dirty_"+name+"_1") +
				fmt.Sprintf(" AND start - start %% %d IN {dirty_%ss:Array(Int64)}", length, name)
		}
		return "(" + condition + ")"
	}
	parts := []string{of(days, "day", clean("day"))}
	if c.hours != c.days || len(c.dirtyDays) > 0 {
		parts = append(parts, of(hours, "hour", outside("day", 24*time.Hour, c.dirtyDays)+" AND "+clean("hour")))
	}
	if c.minutes != c.hours || len(c.dirtyHours) > 0 {
		parts = append(parts, of(minutes, "minute", outside("hour", time.Hour, c.dirtyHours)))
	}
	return parts
}

// edged reports whether there is time around the shortest buckets.
func (c cover) edged() bool { return c.From.Before(c.minutes.From) || c.minutes.To.Before(c.To) }

func ceil(at time.Time, length time.Duration) time.Time {
	if floor := at.Truncate(length); floor.Before(at) {
		return floor.Add(length)
	}
	return at
}

func (c cover) parameters() map[string]any {
	all := map[string]any{
		"from": c.From.UnixNano(), "to": c.To.UnixNano(),
		"minute_0": c.minutes.From.UnixNano(), "minute_1": c.minutes.To.UnixNano(),
		"hour_0": c.hours.From.UnixNano(), "hour_1": c.hours.To.UnixNano(),
		"day_0": c.days.From.UnixNano(), "day_1": c.days.To.UnixNano(),
		"dirty_minutes": starts(c.dirtyMinutes), "dirty_hours": starts(c.dirtyHours), "dirty_days": starts(c.dirtyDays),
	}
	// What lies around the shortest buckets. A range that is empty lies where nothing is, or else the key would find what encloses it.
	for i, edge := range []Window{{c.From, c.minutes.From}, {c.minutes.To, c.To}} {
		if !edge.From.Before(edge.To) {
			edge = Window{time.Unix(0, 0), time.Unix(0, 0)}
		}
		all[fmt.Sprintf("edge_%d", 2*i)], all[fmt.Sprintf("edge_%d", 2*i+1)] = edge.From.UnixNano(), edge.To.UnixNano()
	}
	// What is dirty is enclosed too, so that the sort keys find it.
	for name, dirty := range map[string]struct {
		buckets []time.Time
		length  time.Duration
	}{"dirty": {c.dirtyMinutes, time.Minute}, "dirty_hour": {c.dirtyHours, time.Hour}, "dirty_day": {c.dirtyDays, 24 * time.Hour}} {
		around := Window{time.Unix(0, 0), time.Unix(0, 0)}
		if n := len(dirty.buckets); n > 0 {
			around = Window{dirty.buckets[0], dirty.buckets[n-1].Add(dirty.length)}
			if around.From.Before(c.From) {
				around.From = c.From
			}
			if around.To.After(c.To) {
				around.To = c.To
			}
		}
		all[name+"_0"], all[name+"_1"] = around.From.UnixNano(), around.To.UnixNano()
	}
	return all
}

//go:embed queries/dirty.sql
var dirtySQL string

// maxDirty bounds the buckets that are read one by one; with more, the rollups have nothing to give yet.
const maxDirty = 20_000

// rollupState reads what a cover of the window is planned by; ok is false where the rollups cannot help. Watermarks of a moment ago only
// make more buckets dirty.
func (db *DB) rollupState(ctx context.Context, known *tallyState, w Window) (state rollups, ok bool, err error) {
	progress := known.progress
	if progress[StepMinutes].IsZero() || progress[StepHours].IsZero() {
		return state, false, nil
	}
	state = rollups{
		now: known.now.Add(time.Since(known.asked)), watermark: progress[StepMinutes], keepMinutes: known.keep[StepMinutes], keepHours: known.keep[StepHours],
	}
	lists := []*[]time.Time{nil, &state.dirtyMinutes, &state.dirtyHours, &state.dirtyDays}
	days := int64(0)
	if at, done := progress[StepDays]; done {
		days = at.UnixNano()
	}
	err = db.ask(ctx, dirtySQL, func(rows driver.Rows) error {
		var level uint8
		var at int64
		err := rows.Scan(&level, &at)
		if err == nil {
			*lists[level] = append(*lists[level], time.Unix(0, at).UTC())
		}
		return err
	}, map[string]any{
		"from": w.From.UnixNano(), "to": w.To.UnixNano(), "minutes": progress[StepMinutes].UnixNano(),
		"hours": uint64(progress[StepHours].UnixNano()), "days": uint64(days), "limit": maxDirty + 1,
	})
	ok = len(state.dirtyMinutes) <= maxDirty && len(state.dirtyHours) <= maxDirty && len(state.dirtyDays) <= maxDirty
	return state, ok, question("dirty buckets", err)
}
