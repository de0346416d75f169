package storage

import (
	"testing"
	"time"
)

// Whatever the window, its parts lie inside each other on whole buckets, and nothing is taken from where it may be gone.
func TestPlan(t *testing.T) {
	now := time.Date(2026, 3, 4, 12, 34, 56, 0, time.UTC)
	state := rollups{now: now, watermark: now.Add(-time.Minute), keepMinutes: 7 * 24 * time.Hour, keepHours: 90 * 24 * time.Hour}
	oldest := now.Add(expiry - state.keepMinutes)
	for _, back := range []time.Duration{time.Minute, time.Hour, 26 * time.Hour, 6 * 24 * time.Hour, 10 * 24 * time.Hour, 100 * 24 * time.Hour, 900 * 24 * time.Hour} {
		for _, length := range []time.Duration{30 * time.Second, 90 * time.Minute, 25 * time.Hour, 8 * 24 * time.Hour, 95 * 24 * time.Hour, 900 * 24 * time.Hour} {
			for _, width := range []time.Duration{time.Minute, 15 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour} {
				w := Window{From: now.Add(-back), To: now.Add(length - back)}
				c := state.plan(w, width)
				outer := w
				for i, inner := range []Window{c.minutes, c.hours, c.days} {
					length := []time.Duration{time.Minute, time.Hour, 24 * time.Hour}[i]
					if inner.From.Before(outer.From) || inner.To.After(outer.To) || inner.To.Before(inner.From) {
						t.Errorf("%s back %s by %s: level %d is %v in %v", length, back, width, i, inner, outer)
					}
					if inner.From.Before(inner.To) && (!inner.From.Truncate(length).Equal(inner.From) || !inner.To.Truncate(length).Equal(inner.To) || width%length != 0) {
						t.Errorf("level %d is %v for buckets of %s", i, inner, width)
					}
					outer = inner
				}
				for _, part := range []Window{{c.minutes.From, c.hours.From}, {c.hours.To, c.minutes.To}} {
					if part.From.Before(part.To) && part.From.Before(oldest) {
						t.Errorf("%v by %s: minutes %v may be gone", w, width, part)
					}
				}
			}
		}
	}
}

func TestPlanDescendsIntoWhatIsDirty(t *testing.T) {
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	old, young := now.Add(-20*24*time.Hour).Add(7*time.Minute), now.Add(-26*time.Hour).Add(7*time.Minute)
	state := rollups{now: now, watermark: now, keepMinutes: 7 * 24 * time.Hour, keepHours: 90 * 24 * time.Hour, dirtyMinutes: []time.Time{old, young}}
	c := state.plan(Window{From: now.Add(-30 * 24 * time.Hour), To: now}, 24*time.Hour)
	if len(c.dirtyDays) != 2 || len(c.dirtyHours) != 2 || len(c.dirtyMinutes) != 61 {
		t.Errorf("%d days, %d hours, %d minutes", len(c.dirtyDays), len(c.dirtyHours), len(c.dirtyMinutes))
	}
}

func TestIssueHoursAroundDaysWhereTheyAreTheShortestBuckets(t *testing.T) {
	at := time.Date(2026, 3, 20, 8, 36, 3, 0, time.UTC)
	state := rollups{base: time.Hour, now: at, watermark: at, keepMinutes: 90 * 24 * time.Hour, keepHours: 90 * 24 * time.Hour}
	c := state.plan(Window{at.AddDate(0, 0, -7), at}, 24*time.Hour)
	if want := (Window{time.Date(2026, 3, 13, 9, 0, 0, 0, time.UTC), time.Date(2026, 3, 20, 8, 0, 0, 0, time.UTC)}); c.hours != want || c.minutes != want {
		t.Errorf("hours %v, shortest %v, want %v: up to a day would be read from what the hours are made of", c.hours, c.minutes, want)
	}
	if want := (Window{time.Date(2026, 3, 14, 0, 0, 0, 0, time.UTC), time.Date(2026, 3, 20, 0, 0, 0, 0, time.UTC)}); c.days != want {
		t.Errorf("days %v, want %v", c.days, want)
	}
}
