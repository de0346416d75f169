package storage

import (
	"context"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/laxity-dev/laxity/engine/enginetest"
)

func TestConfigValidate(t *testing.T) {
	for _, c := range []struct {
		name   string
		config Config
		valid  bool
	}{
		{"http", Config{DSN: "http://127.0.0.1:1/laxity"}, true},
		{"native", Config{DSN: "clickhouse://user:secret@127.0.0.1:1/traces"}, true},
		{"empty", Config{}, false},
		{"not a DSN", Config{DSN: "laxity"}, false},
		{"negative limit", Config{DSN: "http://127.0.0.1:1", MaxExecutionTime: -1}, false},
		{"negative connections", Config{DSN: "http://127.0.0.1:1", MaxConnections: -1}, false},
	} {
		if err := c.config.Validate(); (err == nil) != c.valid {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if got := (Config{DSN: "http://127.0.0.1:1/other"}).Database(); got != "other" {
		t.Errorf("database of the DSN: %q", got)
	}
	if got := (Config{DSN: "http://127.0.0.1:1"}).Database(); got != DefaultDatabase {
		t.Errorf("database when none is named: %q", got)
	}
}

func TestSettingsBeatTheDSN(t *testing.T) {
	options, err := Config{DSN: "http://127.0.0.1:1/?async_insert=1&session_timezone=Asia/Tokyo&max_execution_time=0&max_threads=2"}.Options()
	if err != nil {
		t.Fatal(err)
	}
	want := clickhouse.Settings{"async_insert": 0, "insert_deduplicate": 0, "session_timezone": "UTC", "max_execution_time": 30.0, "max_threads": 2}
	for key, value := range want {
		if options.Settings[key] != value {
			t.Errorf("%s = %v, want %v", key, options.Settings[key], value)
		}
	}
}

func TestLimitedHidesTheDeadlineAndKeepsTheCancellation(t *testing.T) {
	db := &DB{limit: time.Minute}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	limited := db.limited(ctx, nil)
	if _, dated := limited.Deadline(); dated {
		t.Error("the client can see the deadline")
	}
	cancel()
	select {
	case <-limited.Done():
	default:
		t.Error("the cancellation did not arrive")
	}
}

// clickhouse-go replaces a limit by the remainder of the context plus five seconds, and sends none where less than one second
// remains. What the server is told through us is the nearer of both, below a second too.
func TestServerIsToldTheNearerLimit(t *testing.T) {
	engine := enginetest.Start(t)
	for _, c := range []struct{ own, caller, least, most time.Duration }{
		{own: 2 * time.Second, caller: time.Minute, least: 2 * time.Second, most: 2 * time.Second},
		{own: 2 * time.Second, least: 2 * time.Second, most: 2 * time.Second},
		{own: time.Hour, caller: 20 * time.Minute, least: time.Minute, most: 20 * time.Minute},
		{own: time.Hour, caller: 800 * time.Millisecond, most: 801 * time.Millisecond},
	} {
		db, err := Open(Config{DSN: engine.DSN("default"), MaxExecutionTime: c.own})
		if err != nil {
			t.Fatal(err)
		}
		told := func() (float64, error) {
			ctx := t.Context()
			if c.caller > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, c.caller)
				defer cancel()
			}
			var limit float64
			return limit, db.conn.QueryRow(db.limited(ctx, nil), "SELECT toFloat64(getSetting('max_execution_time'))").Scan(&limit)
		}
		limit, err := told()
		for range 20 { // a busy machine may need longer than a short limit allows
			if err == nil {
				break
			}
			limit, err = told()
		}
		if err != nil {
			t.Fatal(err)
		}
		if limit < c.least.Seconds() || limit > c.most.Seconds() || limit <= 0 {
			t.Errorf("own limit %v, caller's %v: the server was told %v s", c.own, c.caller, limit)
		}
		_ = db.Close()
	}
}

func TestSeconds(t *testing.T) {
	for d, want := range map[time.Duration]float64{
		-time.Second: 0.001, 0: 0.001, 1500 * time.Millisecond: 1.5, 10*time.Second + 1: 10.001,
	} {
		if got := seconds(d); got != want {
			t.Errorf("seconds(%s) = %v, want %v", d, got, want)
		}
	}
}
