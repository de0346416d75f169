package storage

import (
	"context"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
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

func TestSeconds(t *testing.T) {
	for d, want := range map[time.Duration]float64{
		-time.Second: 0.001, 0: 0.001, 1500 * time.Millisecond: 1.5, 10*time.Second + 1: 10.001,
	} {
		if got := seconds(d); got != want {
			t.Errorf("seconds(%s) = %v, want %v", d, got, want)
		}
	}
}
