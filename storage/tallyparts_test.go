package storage_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/storage"
	"github.com/laxity-dev/laxity/storage/storagetest"
)

// TestIssueStretchOfMoreHopsThanMemory: one stretch that held more hops than a statement had memory for was never counted, and no later one.
func TestIssueStretchOfMoreHopsThanMemory(t *testing.T) {
	store := storagetest.Open(t)
	at := time.Now().UTC().Truncate(storage.Stretch).Add(-2 * time.Hour)
	for part, row := range []string{
		"'Server' AS kind, 'POST /' AS name, toFixedString('', 8) AS parent_span_id, true AS entry, concat('/', toString(number % 9)) AS route, '' AS peer, NULL AS allowance_ns",
		"'Client' AS kind, 'ask' AS name, reinterpretAsFixedString(cityHash64(number, 0)) AS parent_span_id, false AS entry, '' AS route, 'model' AS peer, 5000000000 AS allowance_ns",
		"'Server' AS kind, 'POST /v1' AS name, reinterpretAsFixedString(cityHash64(number, 1)) AS parent_span_id, true AS entry, '/v1' AS route, '' AS peer, NULL AS allowance_ns",
	} {
		err := store.Run(t.Context(), fmt.Sprintf(`INSERT INTO hops (service, ts, trace_id, span_id, duration_ns, answered, weight, kind, name, parent_span_id, entry, route, peer, allowance_ns)
			SELECT if(%d = 2, 'model', 'shop'), fromUnixTimestamp64Nano({from:Int64} + toInt64(number) * 2000000, 'UTC'), toFixedString(sipHash128(number), 16),
				reinterpretAsFixedString(cityHash64(number, %[1]d)), 1000000 * (1 + number %% 1000) * (3 - %[1]d), true, if(number %% 3 = 0, 2.5, 1), %s
			FROM numbers(130000)`, part, row), map[string]any{"from": at.UnixNano()})
		if err != nil {
			t.Fatal(err)
		}
	}
	tally := func(table, scheme string) (rows map[string]string) {
		rows = map[string]string{}
		err := store.Query(t.Context(), `SELECT toString((subject, measure, service, at, route, stage, peer, detail)),
				toString((seen, round(represented), round(total / 1e6), most, last, spread, examples))
			FROM `+table+` FINAL WHERE subject != 'services' AND scheme `+scheme, nil, func(row storage.Row) error {
			var key, values string
			err := row.Scan(&key, &values)
			rows[key] = values
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	const plenty, little = 1 << 30, 80 << 20
	count := func(version int, before time.Time) error {
		return store.RollStretches(t.Context(), []time.Time{at}, before, at.Add(time.Hour+time.Duration(version)))
	}
	store.Confine(plenty, 1_000_000)
	if err := count(10, time.Time{}); err != nil {
		t.Fatal(err)
	}
	want := tally("tally_5m", "= 1")
	store.Confine(little, 1_000_000)
	if err := count(20, time.Time{}); !storage.IsTooExpensive(err) {
		t.Fatalf("all hops in one statement: %v, want too little memory, or else this test shows nothing", err)
	}
	store.Confine(little, 65_000)
	if err := count(30, time.Time{}); err != nil {
		t.Fatal(err)
	}
	got := tally("tally_5m", "= 1")
	if len(want) < 40 || len(got) != len(want) {
		t.Errorf("%d rows in parts, want %d", len(got), len(want))
	}
	for key, values := range want {
		if got[key] != values {
			t.Errorf("%s: %.300s in parts, want %.300s", key, got[key], values)
		}
	}
	if left := tally("tally_5m", "!= 1"); len(left) > 0 {
		t.Errorf("%d rows of parts are left", len(left))
	}
	// A stretch so old that its hour is counted whole.
	store.Confine(plenty, 200_000)
	if err := count(40, at.Add(24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if rows := tally("tally_1h", "= 1"); len(rows) != len(want) {
		t.Errorf("%d rows of the hour, want %d", len(rows), len(want))
	}
}

// TestIssueFirstHoursOf1970: spans of the first hours that a table can hold, as test files have them, kept the worker from counting anything.
func TestIssueFirstHoursOf1970(t *testing.T) {
	store := storagetest.Open(t)
	var stretches []time.Time
	for _, at := range []time.Time{time.Unix(0, 0), time.Unix(2*3600, 0), time.Unix(200*86_400, 0), time.Now().Add(-2 * time.Hour).Truncate(storage.Stretch)} {
		stretches = append(stretches, at.UTC())
		err := store.Run(t.Context(), `INSERT INTO hops (service, ts, trace_id, span_id, duration_ns, answered, weight, kind, name, entry, route)
			VALUES ('shop', fromUnixTimestamp64Nano({at:Int64}, 'UTC'), toFixedString('a', 16), toFixedString('b', 8), 1000000, true, 1, 'Server', 'GET /', true, '/')`,
			map[string]any{"at": at.UnixNano()})
		if err != nil {
			t.Fatal(err)
		}
	}
	for version, before := range []time.Time{{}, time.Now()} { // stretches, then whole hours
		if err := store.RollStretches(t.Context(), stretches, before, time.Now().Add(time.Duration(version))); err != nil {
			t.Fatal(err)
		}
	}
	for _, table := range []string{"tally_5m", "tally_1h"} {
		var counted uint64
		if err := store.Query(t.Context(), `SELECT uniqExact(at) FROM `+table, nil, func(row storage.Row) error { return row.Scan(&counted) }); err != nil {
			t.Fatal(err)
		}
		if counted != uint64(len(stretches)) {
			t.Errorf("%s: %d of %d counted", table, counted, len(stretches))
		}
	}
}
