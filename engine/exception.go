package engine

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/laxity-dev/laxity/engine/chdb"
)

// exception makes an error of our own in the engine's form.
func exception(code int, name, text string) *chdb.Error {
	return &chdb.Error{Code: code, Name: name, Message: fmt.Sprintf("Code: %d. DB::Exception: %s. (%s)", code, text, name)}
}

// asException gives any error the engine's form.
func asException(err error) *chdb.Error {
	if e := new(chdb.Error); errors.As(err, &e) {
		return e
	}
	return exception(chdb.CodeUnknownException, "UNKNOWN_EXCEPTION", err.Error())
}

// httpStatus is the status that a ClickHouse server gives an exception.
func httpStatus(code int) int {
	switch code {
	case 194: // REQUIRED_PASSWORD
		return http.StatusUnauthorized
	case 192, 193, chdb.CodeAuthenticationFailed: // UNKNOWN_USER, WRONG_PASSWORD
		return http.StatusForbidden
	case 6, 25, 26, 27, chdb.CodeBadArguments, 38, 41, 43, 53, chdb.CodeSyntax, 69, 70, 72, 117, 457, 130, 131, 158, 349, chdb.CodeCannotDecompress:
		return http.StatusBadRequest
	case 16, 46, 47, 50, 56, 60, 63, 71, 73, 78, 81, chdb.CodeUnknownSetting, 128, 141, 152:
		return http.StatusNotFound
	case chdb.CodeQueryTooLarge:
		return http.StatusRequestEntityTooLarge
	case chdb.CodeNotImplemented:
		return http.StatusNotImplemented
	case 159: // TIMEOUT_EXCEEDED
		return http.StatusRequestTimeout
	case 209, 76, 439: // SOCKET_TIMEOUT, CANNOT_OPEN_FILE, CANNOT_SCHEDULE_TASK
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}
