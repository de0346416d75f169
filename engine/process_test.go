package engine_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/engine"
	"github.com/laxity-dev/laxity/engine/enginetest"
)

func TestSecondProcessLearnsWhoHoldsTheDirectory(t *testing.T) {
	e := enginetest.Start(t)
	_, err := enginetest.New(enginetest.Options{Data: e.Dir})
	if err == nil {
		t.Fatal("two engines over one directory")
	}
	for _, want := range []string{fmt.Sprintf("process %d", e.Pid()), "listening on " + e.Address, e.Dir, "--data"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in: %v", want, err)
		}
	}
	e.Kill()
	if err := e.Restart(); err != nil {
		t.Errorf("after the death of the holder: %v", err)
	}
}

func TestMissingLibraryNamesWhatInstallsIt(t *testing.T) {
	_, err := engine.Open(engine.Config{Listen: "127.0.0.1:0", Data: t.TempDir(), Library: filepath.Join(t.TempDir(), "libchdb.so")})
	if err == nil || !strings.Contains(err.Error(), "make engine-lib") {
		t.Fatal(err)
	}
}

func TestConfigRefuses(t *testing.T) {
	for name, c := range map[string]engine.Config{
		"no directory":               {},
		"beyond loopback":            {Data: "d", Listen: "0.0.0.0:0"},
		"every interface":            {Data: "d", Listen: ":0"},
		"a name":                     {Data: "d", Listen: "example.com:0"},
		"no port":                    {Data: "d", Listen: "127.0.0.1"},
		"user without password":      {Data: "d", User: "app"},
		"directory with a pattern":   {Data: "d/*"},
		"negative number of queries": {Data: "d", MaxQueries: -1},
	} {
		if _, err := engine.Open(c); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	open := engine.Config{Data: "d", Listen: "0.0.0.0:0"}
	if err := open.Validate(); !errors.Is(err, engine.ErrOpenListen) {
		t.Error(err)
	}
	open.User, open.Password = "app", "secret"
	if err := open.Validate(); err != nil {
		t.Error(err)
	}
}

func TestShutdownTellsRunningQueriesAndKeepsTheData(t *testing.T) {
	e := enginetest.Start(t, enginetest.Options{Grace: 2 * time.Second})
	if _, err := e.Query("CREATE TABLE t (n UInt64) ENGINE = MergeTree ORDER BY n"); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Query("INSERT INTO t SELECT number FROM numbers(1000)"); err != nil {
		t.Fatal(err)
	}
	told := make(chan error, 1)
	go func() {
		_, err := e.Query("/* at_shutdown */ " + endless)
		told <- err
	}()
	eventually(t, "the query runs", func() bool { return running(t, e, "at_shutdown") > 0 })
	short := make(chan error, 1)
	go func() {
		_, err := e.Query("/* short_at_shutdown */ SELECT sleep(0.5)")
		short <- err
	}()
	eventually(t, "the short query runs", func() bool { return running(t, e, "short_at_shutdown") > 0 })
	begun := time.Now()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(begun); d > 25*time.Second {
		t.Errorf("shutdown took %s", d)
	}
	if err := <-told; err == nil || !strings.Contains(err.Error(), "Code: 394") {
		t.Errorf("the endless query: %v", err)
	}
	if err := <-short; err != nil {
		t.Errorf("the short query: %v", err)
	}
	if err := e.Restart(); err != nil {
		t.Fatal(err)
	}
	if out, err := e.Query("SELECT count() FROM t"); err != nil || out != "1000\n" {
		t.Errorf("%q %v", out, err)
	}
}

// TestAcknowledgedRowsSurviveKills kills the engine under writers. A batch is acknowledged or not; the acknowledged ones
// must all be there, once.
func TestAcknowledgedRowsSurviveKills(t *testing.T) {
	kills, rows := 3, 2000
	if os.Getenv("LAXITY_SOAK") != "" {
		kills = 60
	}
	e := enginetest.Start(t)
	if _, err := e.Query("CREATE TABLE t (batch UInt64, n UInt64) ENGINE = MergeTree ORDER BY (batch, n)"); err != nil {
		t.Fatal(err)
	}
	var next atomic.Uint64
	var mu sync.Mutex
	acknowledged := map[string]bool{}
	for range kills {
		stop := make(chan struct{})
		var writers sync.WaitGroup
		for range 2 {
			writers.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					batch := fmt.Sprint(next.Add(1))
					if _, err := e.Query(fmt.Sprintf("INSERT INTO t SELECT %s, number FROM numbers(%d)", batch, rows)); err == nil {
						mu.Lock()
						acknowledged[batch] = true
						mu.Unlock()
					}
				}
			})
		}
		want := len(acknowledged) + 20
		eventually(t, "twenty more batches", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(acknowledged) >= want
		})
		e.Kill()
		close(stop)
		writers.Wait()
		if err := e.Restart(); err != nil {
			t.Fatal(err)
		}
	}
	out, err := e.Query("SELECT batch, count() FROM t GROUP BY batch")
	if err != nil {
		t.Fatal(err)
	}
	stored := map[string]string{}
	for line := range strings.Lines(out) {
		batch, count, _ := strings.Cut(strings.TrimSpace(line), "\t")
		stored[batch] = count
	}
	for batch := range acknowledged {
		if stored[batch] != fmt.Sprint(rows) {
			t.Errorf("acknowledged batch %s has %q rows, want %d", batch, stored[batch], rows)
		}
	}
	for batch, count := range stored {
		if count != fmt.Sprint(rows) {
			t.Errorf("batch %s has %s rows: neither all nor none", batch, count)
		}
	}
}

func TestBodiesOfAnEarlierRunAreRemoved(t *testing.T) {
	e := enginetest.Start(t)
	e.Kill()
	left := filepath.Join(e.Dir, "incoming", "body-left")
	if err := os.WriteFile(left, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := e.Restart(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if a := send(t, e, http.MethodPost, q("INSERT INTO FUNCTION null('a Int8') FORMAT CSV"), "1\n"); a.status != http.StatusOK {
		t.Fatal(a.body)
	}
	if entries, err := os.ReadDir(filepath.Dir(left)); err != nil || len(entries) > 0 {
		t.Errorf("%v %v", entries, err)
	}
}

func TestTimeZoneIsUTCWhateverTheMachine(t *testing.T) {
	t.Setenv("TZ", "America/New_York")
	e := enginetest.Start(t)
	out, err := e.Query("SELECT timezone(), toString(toDateTime(0))")
	if err != nil || out != "UTC\t1970-01-01 00:00:00\n" {
		t.Errorf("%q %v", out, err)
	}
}

func TestInstallScriptIsIdempotent(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "chdb/install.sh").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "engine library: ") || strings.Contains(string(out), "fetching") {
		t.Errorf("%v: %s", err, out)
	}
}
