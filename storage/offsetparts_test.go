package storage_test

import (
	"slices"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/internal/skew"
	"github.com/laxity-dev/laxity/storage"
	"github.com/laxity-dev/laxity/storage/storagetest"
)

// TestIssueClocksOfMoreCallsThanMemory: of ten minutes with more calls than a statement had memory for no clock was learned, and of none after
// them.
func TestIssueClocksOfMoreCallsThanMemory(t *testing.T) {
	store := storagetest.Open(t)
	at := time.Now().UTC().Truncate(skew.Width).Add(-2 * time.Hour)
	// Of 150,000 calls in twenty minutes one in 10,000 is of machines whose clocks are 30 s apart, one in three of some 90 s apart; all
	// others agree.
	for _, row := range []string{
		"'Client' AS kind, id AS span_id, toFixedString('', 8) AS parent_span_id, concat('caller-', pair) AS host, 0 AS late, 5000000 AS length",
		"'Server' AS kind, reinterpretAsFixedString(cityHash64(number, 1)) AS span_id, id AS parent_span_id, concat('callee-', pair) AS host, 1000000 - multiIf(pair = 'few', 30000000000, pair = 'off', 90000000000, 0) AS late, 2000000 AS length",
	} {
		err := store.Run(t.Context(), `INSERT INTO hops (service, ts, trace_id, span_id, parent_span_id, duration_ns, kind, name, host)
			SELECT 'shop', fromUnixTimestamp64Nano({from:Int64} + toInt64(number) * 8000000 + late, 'UTC'), toFixedString(sipHash128(number), 16),
				span_id, parent_span_id, length + number % 1000, kind, 'ask', host
			FROM (SELECT number, reinterpretAsFixedString(cityHash64(number, 0)) AS id, multiIf(number % 10000 = 7, 'few', number % 3 = 0, 'off', 'even') AS pair, `+row+`
				FROM numbers(150000))`, map[string]any{"from": at.UnixNano()})
		if err != nil {
			t.Fatal(err)
		}
	}
	const plenty, little = 1 << 30, 50 << 20
	learn := func(memory int, rows uint64) ([]skew.Offset, error) {
		store.Confine(memory, rows)
		return store.FindOffsets(t.Context(), []time.Time{at, at.Add(skew.Width)})
	}
	want, err := learn(plenty, 1_000_000)
	if err != nil || len(want) != 4 || want[0].Calls > 10 || want[1].Caller != "host caller-off" || want[1].Calls != skew.MaxCalls {
		t.Fatalf("%+v, %v", want, err)
	}
	if _, err := learn(little, 1_000_000); !storage.IsTooExpensive(err) {
		t.Fatalf("all calls in one statement: %v, want too little memory, or else this test shows nothing", err)
	}
	if got, err := learn(little, 40_000); err != nil || !slices.Equal(got, want) {
		t.Errorf("in parts %+v, %v, want %+v", got, err, want)
	}
}
