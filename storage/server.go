package storage

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// The oldest server whose SQL the statements of this package are.
const (
	leastMajor = 24
	leastMinor = 8
)

// ServerError is a server that cannot be used, with what to do.
type ServerError struct {
	Address string
	Problem string
	Advice  string
	err     error
}

func (e *ServerError) Error() string {
	return fmt.Sprintf("ClickHouse at %s: %s; %s", e.Address, e.Problem, e.Advice)
}

func (e *ServerError) Unwrap() error { return e.err }

// CheckServer connects, and refuses a server that is away, does not know the user, cannot be trusted, or is too old.
func CheckServer(ctx context.Context, config Config) error {
	options, err := config.Options()
	if err != nil {
		return err
	}
	// An old server knows neither our settings nor, perhaps, the database.
	options.Settings, options.Auth.Database = nil, "default"
	address := strings.Join(options.Addr, ", ")
	conn, err := clickhouse.Open(options)
	if err != nil {
		return fmt.Errorf("clickhouse: %w", err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.Ping(ctx); err != nil {
		return refused(address, err)
	}
	version, err := conn.ServerVersion()
	if err != nil {
		return refused(address, err)
	}
	if v := version.Version; v.Major < leastMajor || v.Major == leastMajor && v.Minor < leastMinor {
		return tooOld(address, fmt.Sprintf("it is version %d.%d.%d", v.Major, v.Minor, v.Patch), nil)
	}
	return nil
}

func tooOld(address, problem string, err error) error {
	return &ServerError{
		Address: address, Problem: problem, err: err,
		Advice: fmt.Sprintf("Laxity needs %d.%d or newer: upgrade it, name another server in --clickhouse, or use the embedded engine", leastMajor, leastMinor),
	}
}

// refused puts what a client reports at the first contact into words.
func refused(address string, err error) error {
	e := &ServerError{Address: address, Problem: err.Error(), Advice: "see docs/clickhouse.md", err: err}
	var away *net.OpError
	var untrusted *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var exception *clickhouse.Exception
	code := int32(0)
	if errors.As(err, &exception) {
		code = exception.Code
	} else if _, rest, found := strings.Cut(err.Error(), "Code: "); found { // an answer over HTTP is text
		_, _ = fmt.Sscan(rest, &code)
	}
	switch {
	case errors.As(err, &untrusted):
		e.Problem = "its certificate is not trusted: " + untrusted.Err.Error()
		e.Advice = "add its authority to the system's (or SSL_CERT_FILE), or take any certificate by skip_verify=true in --clickhouse"
	case errors.As(err, &record):
		e.Problem, e.Advice = "it does not speak TLS", "leave secure=true or https:// out of --clickhouse, or name the port that does"
	case code == 192 || code == 193 || code == 194 || code == 516: // unknown user, wrong password, password required, authentication failed
		e.Problem, e.Advice = "it refuses user or password", "correct them in --clickhouse (scheme://USER:PASSWORD@host:port/database)"
	case code == 115: // unknown setting
		return tooOld(address, "it does not know a setting that every supported version knows", err)
	case errors.As(err, &away):
		e.Problem, e.Advice = away.Error(), "start it, or correct --clickhouse"
	}
	return e
}
