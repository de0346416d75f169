package classify

// Key says what an attribute is to Annotate.
type Key uint8

// The kinds of attributes that Annotate reads.
const (
	KeyNone   Key = iota // not read
	KeyHTTP              // HTTP status
	KeyGRPC              // gRPC status
	KeyFlags             // response flags
	KeyTag               // canceled and error, as proxies and tracers tag them
	KeyType              // error.type: a span that has it failed
	KeyDetail            // read of a span that failed
	KeyBudget            // carries a budget, by configuration
)

// Look says what an attribute is to Annotate, by its key alone. It is what the collector asks for every attribute.
func (c *Classifier) Look(key string) Key {
	if key == "" {
		return KeyNone
	}
	switch key[0] { // half of what spans carry begins otherwise
	case 'h', 'r', 'g', 'c', 'e', 'd':
	default:
		return c.budgetKey(key)
	}
	switch key {
	case "http.response.status_code", "http.status_code":
		return KeyHTTP
	case "rpc.grpc.status_code", "rpc.response.status_code", "grpc.status_code":
		return KeyGRPC
	case "response_flags":
		return KeyFlags
	case "canceled", "error":
		return KeyTag
	case "error.type":
		return KeyType
	case "exception.type", "exception.message", "error.message", "rpc.connect_rpc.error_code", "db.response.status_code",
		"db.system", "db.system.name", "component":
		return KeyDetail
	}
	return c.budgetKey(key)
}

func (c *Classifier) budgetKey(key string) Key {
	for i := range c.budgets {
		if c.budgets[i].Attribute == key {
			return KeyBudget
		}
	}
	return KeyNone
}

// Speaks reports whether a value may make Annotate say something about a span that has not failed otherwise.
func (c *Classifier) Speaks(key Key, text string) bool {
	switch key {
	case KeyHTTP:
		return true
	case KeyGRPC:
		code, ok := grpcStatus(text)
		return !ok || c.table.speaks[code]
	case KeyFlags:
		return text != "" && text != "-"
	case KeyTag:
		return text != "false"
	case KeyType, KeyBudget:
		return true
	}
	return false
}

// SpeaksInt is Speaks of a whole number.
func (c *Classifier) SpeaksInt(key Key, n int64) bool {
	switch key {
	case KeyHTTP:
		return n < 0 || n >= int64(len(c.table.speaks)) || n >= 500 || c.table.speaks[n]
	case KeyGRPC:
		return n < 0 || n >= int64(len(grpcNames)) || c.table.speaks[n]
	case KeyTag, KeyType, KeyBudget:
		return true
	}
	return false
}
