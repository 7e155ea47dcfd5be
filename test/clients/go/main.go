// The ten steps of docs/api.md by the package that oapi-codegen makes of the contract in OpenAPI 3.0.
package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/oapi-codegen/runtime/types"

	"example.org/quickstart/api"
)

type input struct {
	API      string    `json:"api"`
	Email    string    `json:"email"`
	Password string    `json:"password"`
	Code     string    `json:"code"`
	Approver api.Login `json:"approver"`
}

// must ends the program with the service's own words where the answer is not the one that was expected.
func must[T any](answer *T, body []byte, err error) *T {
	if err != nil {
		panic(err)
	}
	if answer == nil {
		panic(string(body))
	}
	return answer
}

func as(address, token string) *api.ClientWithResponses {
	client, err := api.NewClientWithResponses(address, api.WithRequestEditorFn(
		func(_ context.Context, request *http.Request) error {
			if token != "" {
				request.Header.Set("Authorization", "Bearer "+token)
			}
			return nil
		}))
	if err != nil {
		panic(err)
	}
	return client
}

// receive answers the type of the first event whose signature is good.
func receive(listener net.Listener, secret func() string) <-chan string {
	types := make(chan string, 10)
	handler := func(response http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret(), "whsec_"))
		mac := hmac.New(sha256.New, key)
		fmt.Fprintf(mac, "%s.%s.%s", request.Header.Get("webhook-id"), request.Header.Get("webhook-timestamp"), body)
		expected := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
		for _, one := range strings.Split(request.Header.Get("webhook-signature"), " ") {
			if hmac.Equal([]byte(one), []byte(expected)) {
				var event struct{ Type string }
				if json.Unmarshal(body, &event) == nil {
					types <- event.Type
				}
				response.WriteHeader(http.StatusNoContent)
				return
			}
		}
		response.WriteHeader(http.StatusUnauthorized)
	}
	go func() { _ = http.Serve(listener, http.HandlerFunc(handler)) }()
	return types
}

func main() {
	var given input
	if err := json.Unmarshal([]byte(os.Args[1]), &given); err != nil {
		panic(err)
	}
	ctx := context.Background()
	ptr := func(text string) *string { return &text }
	number := func(value int) *int { return &value }
	anyone := as(given.API, "")

	// 1. Log in. 2. With the second factor.
	login, err := anyone.LoginWithResponse(ctx, api.Login{Email: given.Email, Password: given.Password})
	asked, err := must(login.JSON200, login.Body, err).AsMfaRequired()
	second, err := anyone.CompleteMfaLoginWithResponse(ctx, api.MfaLogin{MfaToken: asked.MfaToken, Code: &given.Code})
	client := as(given.API, must(second.JSON200, second.Body, err).Tokens.AccessToken)

	// 3. A study whose overrides need an approval, with one visit.
	permissions := map[string]any{"can_override": []string{"researcher"}, "override_requires_approval": true, "override_approver_roles": []string{"admin"}}
	config := api.JsonObject{"enrollment_date_policy": map[string]any{"permissions": permissions}}
	made, err := client.CreateStudyWithResponse(ctx, &api.CreateStudyParams{IdempotencyKey: ptr(uuid.NewString())},
		api.StudyCreate{StudyCode: "GO-" + uuid.NewString(), StudyName: "Ten steps", Config: &config})
	study := must(made.JSON201, made.Body, err)
	window, err := client.CreateVisitWindowWithResponse(ctx, nil, api.VisitWindowCreate{
		StudyId: &study.Id, Code: "W4", Name: "Week 4", TargetDay: 28, WindowBefore: number(3), WindowAfter: number(7)})
	must(window.JSON201, window.Body, err)

	// 4. Events, each checked by its signature.
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	wanted, err := client.CreateEventSubscriptionWithResponse(ctx, study.Id, nil, api.EventSubscriptionCreate{
		Url: "http://" + listener.Addr().String() + "/", Events: []api.EventType{api.EventTypeENROLLMENTDATEOVERRIDEGRANTED}})
	subscription := must(wanted.JSON201, wanted.Body, err)
	events := receive(listener, func() string { return subscription.Secret })

	// 5. A participant and its consent.
	enrolled, err := client.CreateParticipantWithResponse(ctx, study.Id, nil, api.ParticipantCreate{ParticipantCode: "P-001"})
	participant := must(enrolled.JSON201, enrolled.Body, err)
	signed, signedAt := api.ConsentStatusSigned, time.Date(2026, 1, 12, 9, 0, 0, 0, time.UTC)
	consented, err := client.CreateConsentWithResponse(ctx, study.Id, participant.Id, nil, api.ConsentCreate{Status: &signed, SignedAt: &signedAt})
	consent := must(consented.JSON201, consented.Body, err)

	// 6. The anchor date. 7. The schedule.
	var anchor *api.AnchorDate
	for anchor == nil || anchor.Status != api.AnchorStatusFinalized {
		time.Sleep(100 * time.Millisecond)
		read, err := client.GetAnchorDateWithResponse(ctx, study.Id, participant.Id, nil)
		anchor = must(read.JSON200, read.Body, err)
	}
	planned, err := client.GetScheduleWithResponse(ctx, study.Id, participant.Id, nil)
	due := []string{}
	for _, visit := range must(planned.JSON200, planned.Body, err).Visits {
		due = append(due, visit.TargetDate.String())
	}

	// 8. Another date, with the approval of somebody else.
	other := types.Date{Time: time.Date(2026, 1, 14, 0, 0, 0, 0, time.UTC)}
	overridden, err := client.OverrideAnchorDateWithResponse(ctx, study.Id, participant.Id, nil, api.AnchorOverride{NewEnrollmentDate: other, Reason: ptr("two days early")})
	override := must(overridden.JSON202, overridden.Body, err)
	entered, err := anyone.LoginWithResponse(ctx, given.Approver)
	answer, err := must(entered.JSON200, entered.Body, err).ValueByDiscriminator()
	loggedIn, isLoggedIn := answer.(api.LoggedIn)
	if err != nil || !isLoggedIn {
		panic(string(entered.Body))
	}
	approver := as(given.API, loggedIn.Tokens.AccessToken)
	decided, err := approver.ApproveOverrideWithResponse(ctx, study.Id, participant.Id, override.OverrideRequestId, nil, api.OverrideApprove{Reason: ptr("checked")})
	approved := must(decided.JSON200, decided.Body, err)

	// 9. A session with trials.
	started, err := client.StartSessionWithResponse(ctx, nil, api.SessionStart{ParticipantId: participant.Id.String(), Language: ptr("en")})
	session := must(started.JSON201, started.Body, err).SessionId.String()
	rt, correct, accuracy, trials := 400.25, true, 1.0, []api.RawTrial{}
	for n := range 2 {
		trials = append(trials, api.RawTrial{Task: "stroop", TrialIndex: n, Rt: &rt, Correct: &correct, Timestamp: time.Date(2026, 2, 9, 10, 0, n, 0, time.UTC)})
	}
	results, err := anyone.SubmitResultsWithResponse(ctx, &api.SubmitResultsParams{XSessionId: &session}, api.Submission{
		SessionId: session, TaskSummaries: api.TaskSummaries{"stroop": {"accuracy": &accuracy}}, RawTrials: &trials})
	submitted := must(results.JSON200, results.Body, err)
	end, err := anyone.EndSessionWithResponse(ctx, &api.EndSessionParams{XSessionId: &session}, api.SessionEnd{SessionId: session})
	ended := must(end.JSON200, end.Body, err)

	// 10. The trials as a file, and what is not there.
	csv, err := client.ExportCsvWithResponse(ctx, nil, api.ExportCreate{StudyId: &study.Id, Dataset: api.DatasetNameRawTrials})
	if err != nil {
		panic(err)
	}
	missing, err := client.GetParticipantWithResponse(ctx, study.Id, nil)
	absent := must(missing.JSON404, missing.Body, err)

	_ = json.NewEncoder(os.Stdout).Encode(map[string]any{
		"login":    asked.MfaRequired,
		"consent":  consent.Status,
		"anchor":   anchor.EnrollmentDate.String(),
		"due":      due,
		"override": []any{override.Status, approved.Status, approved.Anchor.EnrollmentDate.String()},
		"session":  []any{submitted.Status, submitted.Trials, ended.Status},
		"exported": strings.Count(string(csv.Body), "400.25"),
		"event":    <-events,
		"missing":  []any{missing.StatusCode(), absent.Code},
	})
}
