package api

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/laxity-dev/laxity/storage"
)

type checkStatus string

const (
	checkOK   checkStatus = "ok"
	checkWarn checkStatus = "warn"
	checkFail checkStatus = "fail"
)

type healthCheck struct {
	Name   string      `json:"name"`
	Status checkStatus `json:"status"`
	Text   string      `json:"text"`
	Advice string      `json:"advice,omitempty"`
}

type healthAnswer struct {
	Status        checkStatus   `json:"status"`
	Version       string        `json:"version"`
	GoVersion     string        `json:"go_version"`
	EngineVersion string        `json:"engine_version,omitempty"`
	SchemaVersion *uint32       `json:"schema_version,omitempty"`
	Now           instant       `json:"now"`
	Checks        []healthCheck `json:"checks"`
	Data          *healthData   `json:"data"`
	Ingest        *Ingest       `json:"ingest"`
}

type healthData struct {
	Hops     uint64   `json:"hops"`
	Spans    uint64   `json:"spans"`
	NewestAt *instant `json:"newest_at"`
}

const (
	// healthLimit keeps a health answer short when the engine hangs.
	healthLimit = 5 * time.Second
	// clockTolerance is beyond what asking takes; past it, fresh data look old or lie in the future.
	clockTolerance = time.Second
	staleAfter     = 10 * time.Minute
)

// health answers with the state of the installation, with status 503 if a check fails.
func (s *Server) health(c *gin.Context) {
	if p := readParams(c.Request.URL.RawQuery); p.problem != nil {
		p.problem.write(c)
		return
	}
	ctx, cancel := context.WithTimeout(c.Request.Context(), healthLimit)
	defer cancel()
	answer := s.diagnose(ctx)
	status := http.StatusOK
	if answer.Status == checkFail {
		status = http.StatusServiceUnavailable
	}
	c.JSON(status, answer)
}

func (s *Server) diagnose(ctx context.Context) healthAnswer {
	answer := healthAnswer{
		Status: checkOK, Version: s.config.Version, GoVersion: runtime.Version(), Now: instant(s.config.Now().Truncate(time.Millisecond)),
		Ingest: s.config.Ingest,
	}
	add := func(check healthCheck) {
		answer.Checks = append(answer.Checks, check)
		if check.Status == checkFail || check.Status == checkWarn && answer.Status == checkOK {
			answer.Status = check.Status
		}
	}
	start := time.Now()
	engine, err := s.config.Store.Engine(ctx)
	if err != nil {
		s.config.Logger.Warn("engine check failed", "error", err)
		add(healthCheck{"engine", checkFail, "the database does not answer",
			"start it with laxity up or laxity engine, or correct --clickhouse"})
		return answer
	}
	took := time.Since(start)
	answer.EngineVersion = engine.Version
	add(healthCheck{Name: "engine", Status: checkOK, Text: fmt.Sprintf("ClickHouse %s answers in %d ms", engine.Version, took.Milliseconds())})
	add(clockCheck(engine.Now.Sub(start.Add(took/2)), took))
	schema, ok := s.schemaCheck(ctx, &answer)
	add(schema)
	if ok {
		add(s.dataCheck(ctx, &answer))
		add(s.workerCheck(ctx))
		if check, known := s.alertsCheck(ctx); known {
			add(check)
		}
	}
	return answer
}

// workerLag is from when a worker that is behind is a warning.
const workerLag = 15 * time.Minute

func (s *Server) workerCheck(ctx context.Context) healthCheck {
	const advice = "run one laxity worker for this database, or everything with laxity up; its log says what fails"
	progress, err := s.config.Store.Progress(ctx)
	if err != nil {
		s.config.Logger.Warn("worker check failed", "error", err)
		return healthCheck{"worker", checkWarn, "the progress of the worker cannot be read", "see the log of the API"}
	}
	judged, ok := progress[storage.StepVerdicts]
	if !ok {
		return healthCheck{"worker", checkOK, "no worker has judged a trace yet; reports of findings are empty", advice}
	}
	if lag := s.config.Now().Sub(judged); lag > workerLag {
		return healthCheck{"worker", checkWarn, fmt.Sprintf("the worker is %d minutes behind", int(lag.Minutes())), advice}
	}
	counted, ok := progress[storage.StepStretches]
	if !ok {
		return healthCheck{"worker", checkOK, "judges what arrives; nothing is counted for reports over much traffic yet", advice}
	}
	if lag := s.config.Now().Sub(counted); lag > workerLag {
		return healthCheck{"worker", checkWarn, fmt.Sprintf("judges what arrives, but counts for reports over much traffic %d minutes behind, which take longer meanwhile", int(lag.Minutes())), advice}
	}
	return healthCheck{Name: "worker", Status: checkOK, Text: "judges what arrives"}
}

func clockCheck(offset, took time.Duration) healthCheck {
	if offset.Abs() > clockTolerance+took {
		return healthCheck{"clock", checkWarn, fmt.Sprintf("the clocks of engine and API differ by %s", offset.Abs().Round(time.Millisecond)),
			"synchronise both machines with NTP; windows that end now miss the newest data otherwise"}
	}
	return healthCheck{Name: "clock", Status: checkOK, Text: "engine and API agree on the time"}
}

func (s *Server) schemaCheck(ctx context.Context, answer *healthAnswer) (healthCheck, bool) {
	schema, err := s.config.Store.Schema(ctx)
	switch {
	case storage.IsMissing(err):
		return healthCheck{"schema", checkFail, "the tables are not there", "run laxity migrate with the same --clickhouse"}, false
	case err != nil:
		s.config.Logger.Warn("schema check failed", "error", err)
		return healthCheck{"schema", checkFail, "the version of the schema cannot be read", "see the log of the API"}, false
	}
	answer.SchemaVersion = &schema.Version
	switch {
	case schema.Dirty:
		return healthCheck{"schema", checkFail, fmt.Sprintf("migration %d did not finish", schema.Version),
			"run laxity migrate --repair, which applies it again"}, true
	case schema.Version < s.config.SchemaVersion:
		return healthCheck{"schema", checkFail, fmt.Sprintf("schema version %d is older than this binary needs, %d", schema.Version, s.config.SchemaVersion),
			"run laxity migrate of this version"}, true
	case schema.Version > s.config.SchemaVersion:
		return healthCheck{"schema", checkWarn, fmt.Sprintf("schema version %d is newer than this binary knows, %d", schema.Version, s.config.SchemaVersion),
			"update this binary"}, true
	}
	return healthCheck{Name: "schema", Status: checkOK, Text: fmt.Sprintf("schema version %d, the newest this binary knows", schema.Version)}, true
}

func (s *Server) dataCheck(ctx context.Context, answer *healthAnswer) healthCheck {
	kept, err := s.config.Store.Kept(ctx)
	if err != nil {
		s.config.Logger.Warn("data check failed", "error", err)
		return healthCheck{"data", checkFail, "what is kept cannot be counted", "see the log of the API"}
	}
	answer.Data = &healthData{Hops: kept.Hops, Spans: kept.Spans}
	send := "send traces over OTLP to the collector, or run laxity demo"
	if s.config.Ingest != nil {
		send = "send traces over OTLP to " + s.config.Ingest.OTLPGRPC + " (gRPC) or " + s.config.Ingest.OTLPHTTP + " (HTTP), or run laxity demo"
	}
	if kept.Newest == nil {
		return healthCheck{"data", checkWarn, "no span has arrived yet", send}
	}
	newest := instant(*kept.Newest)
	answer.Data.NewestAt = &newest
	if kept.Ingested == nil {
		return healthCheck{"data", checkWarn, "no span has arrived for a day", send}
	}
	if age := s.config.Now().Sub(*kept.Ingested); age > staleAfter {
		return healthCheck{"data", checkWarn, fmt.Sprintf("the last span arrived %d minutes ago", int(age.Minutes())), send}
	}
	return healthCheck{Name: "data", Status: checkOK, Text: fmt.Sprintf("%d hops and %d raw spans are kept", kept.Hops, kept.Spans)}
}
