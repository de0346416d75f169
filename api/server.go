package api

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/klauspost/compress/gzhttp"

	"github.com/laxity-dev/laxity/internal/slo"
	"github.com/laxity-dev/laxity/storage"
	"github.com/laxity-dev/laxity/storage/watch"
)

// Config is what a server needs. Web may be nil: then only the API is served.
type Config struct {
	Store *storage.DB
	Web   fs.FS
	// Token, if not empty, has to come with every request to the API as a bearer token.
	Token string
	// AllowedHosts are names beside addresses and localhost under which the service may be reached without a token.
	AllowedHosts []string
	// SchemaVersion is the newest schema this build knows.
	SchemaVersion uint32
	// Version is the version of this build.
	Version string
	// Ingest says where traces are received when a collector runs in the same process, else nil.
	Ingest *Ingest
	// Watch, if not nil, evaluates alerts in this process and knows whom to tell of them.
	Watch *watch.Watch
	// Alerts are those that Watch evaluates; those of the default settings.
	Alerts []slo.Alert
	// Logger gets what went wrong inside; nil means the default one.
	Logger *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Ingest holds the addresses that receive traces.
type Ingest struct {
	OTLPGRPC string `json:"otlp_grpc"`
	OTLPHTTP string `json:"otlp_http"`
}

// Server is the HTTP API and the page. It is safe for concurrent use.
type Server struct {
	config  Config
	handler http.Handler
	routes  gin.RoutesInfo
}

// questionLimit bounds one request: asking the engine, judging and shaping together.
const questionLimit = 20 * time.Second

// New returns the handler of API and page.
func New(config Config) (*Server, error) {
	if config.Store == nil {
		return nil, errors.New("api: no storage to ask")
	}
	if config.Logger == nil {
		config.Logger = slog.Default()
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	if len(config.Alerts) == 0 {
		var err error
		if config.Alerts, err = slo.Alerts(slo.DefaultSettings()); err != nil {
			return nil, fmt.Errorf("api: %w", err)
		}
	}
	s := &Server{config: config}
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	engine.HandleMethodNotAllowed = true
	engine.RedirectTrailingSlash = false
	engine.RedirectFixedPath = false
	engine.ForwardedByClientIP = false
	engine.Use(gin.CustomRecoveryWithWriter(nil, s.recovered), s.checkHost)

	v1 := engine.Group("/api/v1", s.checkToken, noStore)
	v1.GET("/openapi.yaml", func(c *gin.Context) { c.Data(http.StatusOK, "application/yaml", openapi) })
	v1.GET("/health", s.health)
	v1.GET("/traces", s.searchTraces)
	v1.GET("/traces/:id", s.trace)
	v1.DELETE("/traces/:id", s.deleteTrace)
	v1.GET("/traces/:id/statement", s.statement)
	v1.GET("/traces/:id/incident", s.incident)
	v1.GET("/reports/margin", s.margin)
	s.reportRoutes(v1.Group("/reports"))
	v1.GET("/services", s.services)
	v1.GET("/facets", s.facets)
	v1.GET("/markers", s.markers)
	v1.POST("/markers", s.addMarker)
	v1.DELETE("/markers/:id", s.removeMarker)
	v1.POST("/markers/:id/restore", s.restoreMarker)
	v1.GET("/policies/advice", s.advice)
	v1.GET("/contracts/measured", s.measured)
	v1.GET("/alerts", s.alerts)
	v1.GET("/alerts/history", s.alertHistory)
	v1.POST("/alerts/:name/test", s.testAlert)
	v1.GET("/silences", s.silences)
	v1.POST("/silences", s.addSilence)
	v1.DELETE("/silences/:id", s.endSilence)

	engine.NoRoute(s.page)
	engine.NoMethod(func(c *gin.Context) {
		(&problem{
			Type: kind("method-not-allowed"), Title: "Method not allowed", Status: http.StatusMethodNotAllowed,
			Detail: c.Request.Method + " is not possible here", Advice: "see /api/v1/openapi.yaml for what is",
		}).write(c)
	})
	compress, err := gzhttp.NewWrapper(gzhttp.MinSize(1024))
	if err != nil {
		return nil, fmt.Errorf("api: compression: %w", err)
	}
	s.routes = engine.Routes()
	s.handler = withSecurityHeaders(compress(engine))
	return s, nil
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

func noStore(c *gin.Context) { c.Header("Cache-Control", "no-store") }

func (s *Server) recovered(c *gin.Context, value any) {
	s.config.Logger.Error("request panicked", "path", c.Request.URL.Path, "panic", fmt.Sprint(value))
	internalProblem.write(c)
}

var internalProblem = &problem{
	Type: kind("internal"), Title: "Internal error", Status: http.StatusInternalServerError,
	Detail: "the request could not be answered", Advice: "the log of the server says why; laxity doctor checks the installation",
}

// question returns the context of one request: it ends when the client leaves or the limit is reached.
func question(c *gin.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(c.Request.Context(), questionLimit)
}

// fail turns an error of storage into words, once.
func (s *Server) fail(c *gin.Context, err error) {
	var bad *problem
	switch {
	case errors.As(err, &bad):
		bad.write(c)
	case c.Request.Context().Err() != nil:
		c.AbortWithStatus(499) // the client has left; nobody reads this
	case errors.Is(err, context.DeadlineExceeded), storage.IsTooExpensive(err):
		(&problem{
			Type: kind("too-expensive"), Title: "Too expensive", Status: http.StatusServiceUnavailable,
			Detail: "the question needs more time or memory than one answer may take",
			Advice: "ask for a shorter window or filter by service and route",
		}).write(c)
	case storage.IsForeign(err):
		(&problem{
			Type: kind("not-ours"), Title: "Kept by somebody else", Status: http.StatusConflict,
			Detail: err.Error(), Advice: "delete the trace in that table; what Laxity keeps of it can be deleted then",
		}).write(c)
	case storage.IsBusy(err):
		c.Header("Retry-After", "1")
		(&problem{
			Type: kind("busy"), Title: "Busy", Status: http.StatusServiceUnavailable,
			Detail: "too many questions are being answered", Advice: "ask again in a moment",
		}).write(c)
	case storage.IsMissing(err):
		(&problem{
			Type: kind("no-schema"), Title: "No schema", Status: http.StatusServiceUnavailable,
			Detail: "the tables of Laxity are not in this database",
			Advice: "run laxity migrate with the same --clickhouse",
		}).write(c)
	case storage.IsUnreachable(err):
		s.config.Logger.Error("engine unreachable", "error", err)
		(&problem{
			Type: kind("engine-unreachable"), Title: "Engine unreachable", Status: http.StatusServiceUnavailable,
			Detail: "the database does not answer", Advice: "run laxity doctor; it says what is down",
		}).write(c)
	default:
		s.config.Logger.Error("request failed", "path", c.Request.URL.Path, "error", err)
		internalProblem.write(c)
	}
}
