// Package budgetattr is the one place of names: every attribute key, event, header and enum value that the sdk writes and
// that the collector, the storage and the API read. Documentation, the SQL test and the TypeScript constants are generated
// from it.
//
// Durations are float64 seconds. No attribute ever carries an absolute deadline.
package budgetattr

// Prefix begins every attribute key.
const Prefix = "deadline."

// Headers that carry a remainder, or belong to it, over HTTP.
const (
	// HeaderTimeout carries the remaining budget in whole milliseconds, rounded down. 0 means expired.
	HeaderTimeout = "X-Request-Timeout-Ms"
	// HeaderAttempt carries the number of the attempt over all layers, from 1.
	HeaderAttempt = "X-Request-Attempt"
	// HeaderDegraded names, in a response, the stages that the answer goes without, separated by commas.
	HeaderDegraded = "X-Request-Degraded"
	// HeaderGRPCTimeout is the remainder as gRPC writes it: at most eight digits and a unit.
	HeaderGRPCTimeout = "Grpc-Timeout"
	// HeaderEnvoyTimeout is what Envoy expects a request to take, in milliseconds. 0 means no limit.
	HeaderEnvoyTimeout = "X-Envoy-Expected-Rq-Timeout-Ms"
	// HeaderConnectTimeout is the remainder in milliseconds as the Connect protocol writes it.
	HeaderConnectTimeout = "Connect-Timeout-Ms"
)

// Type is the type of an attribute's value.
type Type uint8

// The types of values.
const (
	String Type = iota
	Float
	Int
	Bool
)

// String returns the name of the type as documentation prints it.
func (t Type) String() string {
	return [...]string{"string", "double", "int", "boolean"}[t]
}

// Attribute describes one attribute: Enum names the Go type of its values where they are enumerated, Unit is a UCUM code,
// On says which kind of span carries it and SetBy who writes it.
type Attribute struct {
	Key     string
	Type    Type
	Enum    string
	Unit    string
	On      string
	SetBy   string
	Meaning string
}
