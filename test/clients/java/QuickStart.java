import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.LocalDate;
import java.time.OffsetDateTime;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.*;
import org.openapitools.client.model.*;

/** The ten steps of docs/api.md by the classes that openapi-generator makes of the contract in OpenAPI 3.0. */
public final class QuickStart {
  private static final ObjectMapper JSON = new ObjectMapper();

  private static ApiClient as(String api, String token) {
    ApiClient client = new ApiClient();
    client.updateBaseUri(api);
    if (token != null) client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + token));
    return client;
  }

  /** The type of the first event whose signature is good. */
  private static CompletableFuture<String> receive(HttpServer server, CompletableFuture<String> secret) {
    CompletableFuture<String> received = new CompletableFuture<>();
    server.createContext("/", exchange -> {
      String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
      var headers = exchange.getRequestHeaders();
      String signed = headers.getFirst("webhook-id") + "." + headers.getFirst("webhook-timestamp") + "." + body;
      boolean good = false;
      try {
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(Base64.getDecoder().decode(secret.get().replace("whsec_", "")), "HmacSHA256"));
        byte[] hash = mac.doFinal(signed.getBytes(StandardCharsets.UTF_8));
        byte[] expected = ("v1," + Base64.getEncoder().encodeToString(hash)).getBytes(StandardCharsets.UTF_8);
        for (String one : headers.getFirst("webhook-signature").split(" "))
          good |= MessageDigest.isEqual(one.getBytes(StandardCharsets.UTF_8), expected);
      } catch (Exception fault) {
        received.completeExceptionally(fault);
      }
      exchange.sendResponseHeaders(good ? 204 : 401, -1);
      exchange.close();
      if (good) received.complete(JSON.readTree(body).get("type").asText());
    });
    server.start();
    return received;
  }

  public static void main(String[] arguments) {
    int code = 0;
    try {
      tenSteps(arguments);
    } catch (Exception fault) {
      fault.printStackTrace();
      code = 1;
    }
    // The receiver's threads would keep the program.
    System.exit(code);
  }

  private static void tenSteps(String[] arguments) throws Exception {
    JsonNode given = JSON.readTree(arguments[0]);
    String api = given.get("api").asText();
    var anyone = new AuthenticationApi(as(api, null));

    // 1. Log in. 2. With the second factor.
    MfaRequired asked = anyone.login(new Login().email(given.get("email").asText()).password(given.get("password").asText())).getMfaRequired();
    LoggedIn entered = anyone.completeMfaLogin(new MfaLogin().mfaToken(asked.getMfaToken()).code(given.get("code").asText()));
    ApiClient client = as(api, entered.getTokens().getAccessToken());

    // 3. A study whose overrides need an approval, with one visit.
    Map<String, Object> permissions = Map.of("can_override", List.of("researcher"), "override_requires_approval", true, "override_approver_roles", List.of("admin"));
    Map<String, Object> config = Map.of("enrollment_date_policy", Map.of("permissions", permissions));
    Study study = new StudiesApi(client).createStudy(new StudyCreate().studyCode("JAVA-" + UUID.randomUUID()).studyName("Ten steps").config(config), null, UUID.randomUUID().toString());
    UUID studyId = study.getId();
    new SchedulesApi(client).createVisitWindow(new VisitWindowCreate().studyId(studyId).code("W4").name("Week 4").targetDay(28).windowBefore(3).windowAfter(7), null, null, null);

    // 4. Events, each checked by its signature.
    HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
    CompletableFuture<String> secret = new CompletableFuture<>();
    CompletableFuture<String> event = receive(server, secret);
    var wanted = new EventSubscriptionCreate().url(URI.create("http://127.0.0.1:" + server.getAddress().getPort() + "/")).events(Set.of(EventType.ENROLLMENT_DATE_OVERRIDE_GRANTED));
    secret.complete(new EventsApi(client).createEventSubscription(studyId, wanted, null).getSecret());

    // 5. A participant and its consent.
    UUID participantId = new ParticipantsApi(client).createParticipant(studyId, new ParticipantCreate().participantCode("P-001"), null, null).getId();
    Consent consent = new ConsentsApi(client).createConsent(studyId, participantId, null, null, new ConsentCreate().status(ConsentStatus.SIGNED).signedAt(OffsetDateTime.parse("2026-01-12T09:00:00Z")));

    // 6. The anchor date. 7. The schedule.
    var anchors = new AnchorDateApi(client);
    AnchorDate anchor = anchors.getAnchorDate(studyId, participantId, null, null, null, null);
    while (anchor.getStatus() != AnchorStatus.FINALIZED) {
      Thread.sleep(100);
      anchor = anchors.getAnchorDate(studyId, participantId, null, null, null, null);
    }
    Schedule schedule = new SchedulesApi(client).getSchedule(studyId, participantId, null, null);

    // 8. Another date, with the approval of somebody else. A method has one type of answer: the request is read from its list.
    anchors.overrideAnchorDate(studyId, participantId, new AnchorOverride().newEnrollmentDate(LocalDate.parse("2026-01-14")).reason("two days early"), null, null, null);
    OverrideRequest request = anchors.listOverrideRequests(studyId, participantId, null, null, null).getItems().get(0);
    JsonNode other = given.get("approver");
    String token = anyone.login(new Login().email(other.get("email").asText()).password(other.get("password").asText())).getLoggedIn().getTokens().getAccessToken();
    OverrideApplied approved = new AnchorDateApi(as(api, token)).approveOverride(studyId, participantId, request.getId(), null, null, null, new OverrideApprove().reason("checked"));

    // 9. A session with trials.
    String session = new SessionsApi(client).startSession(new SessionStart().participantId(participantId.toString()).language("en"), null, null, null, null, null, null).getSessionId().toString();
    var results = new Submission().sessionId(session).putTaskSummariesItem("stroop", Map.of("accuracy", 1.0));
    for (int n = 0; n < 2; n += 1)
      results.addRawTrialsItem(new RawTrial().task("stroop").trialIndex(n).rt(400.25).correct(true).timestamp(OffsetDateTime.parse("2026-02-09T10:00:00Z")));
    var sessions = new SessionsApi(as(api, null));
    SubmissionResult submitted = sessions.submitResults(results, session, null);
    SessionEnded ended = sessions.endSession(new SessionEnd().sessionId(session), session, null);

    // 10. The trials as a file, and what is not there. These classes read every answer as JSON: the other export is a text.
    ExportRows rows = new ExportsApi(client).exportJson(new ExportCreate().studyId(studyId).dataset(DatasetName.RAW_TRIALS), null, null, null);
    List<Object> missing = null;
    try {
      new ParticipantsApi(client).getParticipant(studyId, null, null, null);
    } catch (ApiException refused) {
      missing = List.of(refused.getCode(), JSON.readTree(refused.getResponseBody()).get("code").asText());
    }

    Map<String, Object> told = new LinkedHashMap<>();
    told.put("login", asked.getMfaRequired());
    told.put("consent", consent.getStatus().getValue());
    told.put("anchor", anchor.getEnrollmentDate().toString());
    told.put("due", schedule.getVisits().stream().map(visit -> visit.getTargetDate().toString()).toList());
    told.put("override", List.of(request.getStatus() == OverrideStatus.PENDING ? "pending_approval" : request.getStatus().getValue(), approved.getStatus().getValue(), approved.getAnchor().getEnrollmentDate().toString()));
    told.put("session", List.of(submitted.getStatus().getValue(), submitted.getTrials(), ended.getStatus().getValue()));
    told.put("exported", rows.getRows().stream().filter(row -> row.toString().contains("400.25")).count());
    told.put("event", event.get(30, TimeUnit.SECONDS));
    told.put("missing", missing);
    System.out.println(JSON.writeValueAsString(told));
  }
}
