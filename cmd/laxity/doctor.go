package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/laxity-dev/laxity/engine/chdb"
	"github.com/laxity-dev/laxity/internal/render"
	"github.com/laxity-dev/laxity/storage"
)

// doctorLimit bounds one check.
const doctorLimit = 10 * time.Second

// diagnosis is one check: what was looked at, how it is, what to do.
type diagnosis struct {
	Name   string `json:"name"`
	Status string `json:"status"` // ok, warn or fail
	Text   string `json:"text"`
	Advice string `json:"advice"`
}

type doctorFlags struct{ clickhouse, otlpGRPC, metrics string }

func newDoctorCommand() *cobra.Command {
	var flags doctorFlags
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what is wrong with this installation and what to do",
		Long: `Checks API, engine, schema, clock, data, collector, its queue and the versions, and says for each what is wrong and what to
do. Ends with 1 if a check fails.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := newAPIClient(cmd)
			if err != nil {
				return err
			}
			checks := examine(cmd.Context(), client, flags)
			if err := writeDiagnoses(cmd.OutOrStdout(), checks); err != nil {
				return err
			}
			for _, check := range checks {
				if check.Status == "fail" {
					return errReported
				}
			}
			return nil
		},
	}
	addAPIFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&flags.clickhouse, "clickhouse", defaultDSN, "DSN of ClickHouse, asked when the API does not answer")
	f.StringVar(&flags.otlpGRPC, "otlp-grpc", defaultGRPC, "address where the collector takes OTLP over gRPC")
	f.StringVar(&flags.metrics, "metrics-listen", defaultMetrics, "address of the page of Prometheus metrics")
	return cmd
}

type healthReport struct {
	Version string      `json:"version"`
	Now     time.Time   `json:"now"`
	Checks  []diagnosis `json:"checks"`
	Ingest  *struct {
		OTLPGRPC string `json:"otlp_grpc"`
	} `json:"ingest"`
}

// examine runs every check; one that fails does not stop the others.
func examine(ctx context.Context, client *apiClient, flags doctorFlags) []diagnosis {
	var checks []diagnosis
	health, asked, err := askHealth(ctx, client)
	if err != nil {
		checks = append(checks, apiDiagnosis(client, err))
		checks = append(checks, engineDiagnosis(ctx, flags.clickhouse)...)
	} else {
		checks = append(checks, diagnosis{Name: "api", Status: "ok", Text: "answers at " + client.base.String()})
		checks = append(checks, health.Checks...)
		checks = append(checks, clockDiagnosis(health.Now.Sub(asked)), versionDiagnosis(health.Version))
		if health.Ingest != nil {
			flags.otlpGRPC = health.Ingest.OTLPGRPC
		}
	}
	checks = append(checks, collectorDiagnosis(ctx, flags.otlpGRPC))
	return append(checks, queueDiagnoses(ctx, flags.metrics)...)
}

// askHealth returns the report and the local time in the middle of asking.
func askHealth(ctx context.Context, client *apiClient) (healthReport, time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, doctorLimit)
	defer cancel()
	var report healthReport
	start := time.Now()
	body, err := client.get(ctx, "health", nil)
	middle := start.Add(time.Since(start) / 2)
	if err != nil {
		return report, middle, err
	}
	if err := json.Unmarshal(body, &report); err != nil {
		return report, middle, fmt.Errorf("answer: %w", err)
	}
	return report, middle, nil
}

func apiDiagnosis(client *apiClient, err error) diagnosis {
	var problem *apiProblem
	switch {
	case errors.As(err, &problem):
		return diagnosis{"api", "fail", problem.Title + " at " + client.base.String(), problem.Advice}
	case errors.Is(err, errUnreachable):
		return diagnosis{"api", "fail", "nobody listens at " + client.base.String(), "start everything with laxity up, or name the address with --api"}
	}
	return diagnosis{"api", "fail", err.Error(), "check --api; see the log of laxity up or laxity api"}
}

// engineDiagnosis asks the engine itself, where the API cannot say how it is.
func engineDiagnosis(ctx context.Context, dsn string) []diagnosis {
	var checks []diagnosis
	store, err := storage.Open(storage.Config{DSN: dsn, MaxExecutionTime: doctorLimit})
	if err != nil {
		return []diagnosis{{"engine", "fail", err.Error(), "correct --clickhouse"}}
	}
	defer func() { _ = store.Close() }()
	ctx, cancel := context.WithTimeout(ctx, doctorLimit)
	defer cancel()
	found, err := store.Engine(ctx)
	switch {
	case err == nil:
		return []diagnosis{{Name: "engine", Status: "ok", Text: "ClickHouse " + found.Version + " answers"}}
	case storage.IsMissing(err):
		checks = append(checks, diagnosis{"engine", "fail", "the database does not exist", "run laxity migrate with the same --clickhouse"})
	default:
		checks = append(checks, diagnosis{"engine", "fail", "the database does not answer at " + host(dsn), "start it with laxity up or laxity engine, or correct --clickhouse"})
	}
	if library := chdb.LibraryPath(); !exists(library) {
		checks = append(checks, diagnosis{"library", "warn", "the library of the embedded engine is not at " + library,
			"install it with make engine-lib; a remote ClickHouse needs none"})
	}
	return checks
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// host leaves out what must not be shown: a DSN may hold a password.
func host(dsn string) string {
	if u, err := url.Parse(dsn); err == nil && u.Host != "" {
		return u.Host
	}
	return "the address of --clickhouse"
}

func clockDiagnosis(offset time.Duration) diagnosis {
	if offset.Abs() > 2*time.Second {
		return diagnosis{"local clock", "warn", fmt.Sprintf("this machine and the API differ by %s", offset.Abs().Round(time.Millisecond)),
			"synchronise both with NTP; windows such as --since 1h are taken by the clock of the API"}
	}
	return diagnosis{Name: "local clock", Status: "ok", Text: "this machine and the API agree on the time"}
}

func versionDiagnosis(served string) diagnosis {
	if served != version() {
		return diagnosis{"versions", "warn", fmt.Sprintf("the API is %s, this command %s", served, version()), "use one version of laxity everywhere"}
	}
	return diagnosis{Name: "versions", Status: "ok", Text: "API and command line are " + served}
}

func collectorDiagnosis(ctx context.Context, address string) diagnosis {
	dialer := net.Dialer{Timeout: doctorLimit}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return diagnosis{"collector", "fail", "nobody takes OTLP at " + address, "start it with laxity up or laxity collector, or name the address with --otlp-grpc"}
	}
	_ = conn.Close()
	return diagnosis{Name: "collector", Status: "ok", Text: "takes OTLP over gRPC at " + address}
}

// queueDiagnoses reads the collector's own metrics.
func queueDiagnoses(ctx context.Context, address string) []diagnosis {
	ctx, cancel := context.WithTimeout(ctx, doctorLimit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", nil)
	if err != nil {
		return []diagnosis{{"queue", "warn", err.Error(), "correct --metrics-listen"}}
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return []diagnosis{{"queue", "warn", "the collector's metrics cannot be read at " + address, "name their address with --metrics-listen"}}
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, 16<<20))
	if err != nil || response.StatusCode != http.StatusOK {
		return []diagnosis{{"queue", "warn", "the collector's metrics cannot be read at " + address, "name their address with --metrics-listen"}}
	}
	return judgeQueue(string(body))
}

// writeDiagnoses writes at most 80 columns where the texts allow it.
func writeDiagnoses(w io.Writer, checks []diagnosis) error {
	const width = 60 // of 80 columns, behind the name
	var b strings.Builder
	indent := strings.Repeat(" ", 19)
	for _, check := range checks {
		fmt.Fprintf(&b, "%-5s %-12s %s\n", check.Status, check.Name, fold(check.Text, width, indent))
		if check.Advice != "" && check.Status != "ok" {
			fmt.Fprintf(&b, "%-18s → %s\n", "", fold(check.Advice, width, indent))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// fold breaks text between words so that no line is longer than width; the second and later begin with indent.
func fold(text string, width int, indent string) string {
	var b strings.Builder
	column := 0
	for i, word := range strings.Fields(render.Clean(text)) {
		length := len([]rune(word))
		switch {
		case i > 0 && column+1+length > width:
			b.WriteString("\n" + indent)
			column = 0
		case i > 0:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += length
	}
	return b.String()
}
