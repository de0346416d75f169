package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/internal/alert"
	"github.com/laxity-dev/laxity/storage"
	"github.com/laxity-dev/laxity/storage/storagetest"
)

// What fires is listed with what people were told, silenced and unsilenced; who is told can be tried; files are made from settings.
func TestAlertCommands(t *testing.T) {
	store := storagetest.Open(t)
	hooks := http.StatusOK
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(hooks)
	}))
	t.Cleanup(hook.Close)
	settings := filepath.Join(t.TempDir(), "alerts.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("version: 1\nobjectives: {in_time: 99.9%}\nroutes:\n- {service: shop, route: /buy, objectives: {in_time: 95%}}\n")
	flags := apiFlags{webhooks: []string{hook.URL + "/secret"}, settings: settings}
	logger := slog.New(slog.DiscardHandler)
	watching, definitions, err := newWatch(flags, store.DB, logger)
	if err != nil {
		t.Fatal(err)
	}
	handler, err := newAPI(flags, "", store.DB, watching, definitions, logger)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	run := func(args ...string) (string, error) {
		t.Helper()
		out, err := command(t, append(append([]string{"alert"}, args...), "--api", server.URL)...)
		for line := range strings.Lines(out) {
			if len([]rune(line)) > 81 && !strings.HasPrefix(line, " ") && !strings.Contains(strings.Join(args, " "), "-o") {
				t.Errorf("alert %v: longer than 80 columns: %s", args, line)
			}
		}
		return out, err
	}
	expect := func(want string, args ...string) string {
		t.Helper()
		out, err := run(args...)
		if err != nil || !strings.Contains(out, want) {
			t.Fatalf("alert %v: %v, no %q in\n%s", args, err, want, out)
		}
		return out
	}
	expect("Nothing was evaluated yet", "list")

	at := time.Now().Add(-time.Minute).Truncate(time.Minute)
	told := []alert.Statement{{TraceID: lateTrace, Text: "shop /buy was late\n"}}
	state := alert.State{ID: alert.ID{Name: "BudgetMissedFast", Labels: alert.Labels{Service: "shop", Route: "/buy"}}, Status: alert.Firing, Since: at, At: at, Value: 0.21,
		Summary: "shop /buy: 21 % of requests late or out of time, mostly load store by local_deadline", Statements: told}
	change := storage.AlertChange{At: at, Name: state.Name, Labels: state.Labels, State: state.Status, Value: state.Value, Summary: state.Summary, Statements: told}
	err = errors.Join(store.WriteAlertStates(t.Context(), []alert.State{state}), store.WriteAlertHistory(t.Context(), []storage.AlertChange{change}),
		store.WriteAlertLease(t.Context(), storage.AlertLease{Holder: "one", Claimed: at, Until: at.Add(time.Hour), Evaluated: at}))
	if err != nil {
		t.Fatal(err)
	}
	if out := expect("laxity trace "+lateTrace, "list"); !strings.Contains(out, "firing     page    BudgetMissedFast        since ") {
		t.Errorf("list:\n%s", out)
	}
	expect("prometheus page    IngestionLoss", "list", "--all")
	var list struct {
		Rows []struct {
			Name       string
			Conditions [][]struct {
				AtLeast float64 `json:"at_least"`
				Instead []struct {
					AtLeast float64 `json:"at_least"`
				}
			}
			Instances []struct{ Examples []alert.Statement }
		}
	}
	if err := json.Unmarshal([]byte(expect("{", "list", "-o", "json")), &list); err != nil {
		t.Fatal(err)
	}
	first := list.Rows[0].Conditions[0][0]
	if first.AtLeast != 0.0144 || len(first.Instead) != 1 || first.Instead[0].AtLeast != 0.72 || list.Rows[0].Instances[0].Examples[0].Text != told[0].Text {
		t.Errorf("not the limits of the settings, or not what was told: %+v", list.Rows[0])
	}
	rows, err := csv.NewReader(strings.NewReader(expect("name,severity,state", "list", "-o", "csv"))).ReadAll()
	if err != nil || len(rows) != 2 || rows[1][0] != "BudgetMissedFast" || rows[1][len(rows[1])-1] != lateTrace {
		t.Errorf("csv: %v, %v", rows, err)
	}
	expect("firing    BudgetMissedFast", "history")
	expect("No alert changed between", "history", "Overload", "--since", "1h")
	expect(",firing,0.21,shop,/buy,", "history", "-o", "csv")
	expect(lateTrace, "history", "-o", "json")

	// What services and people call things does not reach the terminal's controls.
	strange := state
	strange.Labels.Service, strange.Summary = "\x1b[2Jmore", "\x1b[2Jmore\x07 fires\u202e"
	if err := store.WriteAlertStates(t.Context(), []alert.State{strange}); err != nil {
		t.Fatal(err)
	}
	expect("", "silence", "add", "service=\x1b[2Jmore", "--comment", "a\x1bb", "--for", "1m")
	for _, args := range [][]string{{"list"}, {"silence", "list"}} {
		if out := expect("[2Jmore", args...); strings.ContainsAny(out, "\x1b\x07\u202e") {
			t.Errorf("alert %v writes controls: %q", args, out)
		}
	}
	strange.Status = alert.Resolved
	if err := store.WriteAlertStates(t.Context(), []alert.State{strange}); err != nil {
		t.Fatal(err)
	}

	id := strings.TrimSpace(expect("", "silence", "add", "alertname=BudgetMissedFast", "service=shop", "--for", "30m", "--comment", "known"))
	expect("silenced", "list")
	expect(id+"  until ", "silence", "list")
	expect("alertname=BudgetMissedFast service=shop,known", "silence", "list", "-o", "csv")
	expect("", "silence", "expire", id)
	expect(id+"  ended ", "silence", "list")
	if out := expect("firing", "list"); strings.Contains(out, "silenced") {
		t.Errorf("still silenced:\n%s", out)
	}

	expect("webhook "+hook.URL+": delivered", "test", "OrphanWork")
	hooks = http.StatusForbidden
	if out, err := run("test", "OrphanWork"); !errors.Is(err, errReported) || !strings.Contains(strings.Join(strings.Fields(out), " "), " answered 403 Forbidden") || strings.Contains(out, "secret") {
		t.Errorf("a webhook that refuses: %v\n%s", err, out)
	}
	if _, err := run("test", "NoSuch"); err == nil || !strings.Contains(err.Error(), "there is no alert NoSuch") {
		t.Errorf("no such alert: %v", err)
	}

	for file, want := range map[string]string{"rules": `{service="shop",route="/buy"} / service_route:laxity_requests:increase1h >= 0.72`, "openslo": "target: 0.95"} {
		if out, err := command(t, "alert", file, "--alert-settings", settings); err != nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v, no %s", file, err, want)
		}
	}
	var usage *usageError
	write("version: 1\nobjectives: {intime: 1%}\n")
	for _, args := range [][]string{
		{"rules", "--alert-settings", settings}, {"rules", "--alert-settings", settings + ".gone"}, {"lst"}, {"silence", "ad"}, {"silence", "add"}, {"silence", "add", "shop"},
		{"silence", "expire"}, {"test"}, {"list", "-o", "xml"}, {"history", "a", "b"},
	} {
		if _, err := command(t, append([]string{"alert"}, args...)...); !errors.As(err, &usage) {
			t.Errorf("alert %v: %v", args, err)
		}
	}
	if _, _, err := newWatch(flags, store.DB, logger); !errors.As(err, &usage) || !strings.Contains(err.Error(), `alerts.yaml:2: there is no key "intime" in objectives; keys: `) {
		t.Errorf("settings with a mistake: %v", err)
	}
}
