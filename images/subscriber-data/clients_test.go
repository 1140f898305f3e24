package subscriberdata

// free5GC's own clients against the functions: the generation that AMF 1.4.5 and PCF 1.4.5 are built
// with. The SMF's generation is older and cannot be linked beside it; TestContract asks as it does.

import (
	"context"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/free5gc/openapi"
	"github.com/free5gc/openapi/ausf/UEAuthentication"
	"github.com/free5gc/openapi/models"
	"github.com/free5gc/openapi/nssf/NSSelection"
	"github.com/free5gc/openapi/udm/SubscriberDataManagement"
	"github.com/free5gc/openapi/udm/UEContextManagement"
	"github.com/free5gc/openapi/udr/DataRepository"
	"github.com/google/go-cmp/cmp"
)

// modelOf is what the client made of an error's content.
func modelOf(err error) any {
	refused, ok := err.(openapi.GenericOpenAPIError)
	if !ok {
		return nil
	}
	return refused.Model()
}

func ptr[T any](v T) *T { return &v }

func TestAMFsClientOfTheAUSF(t *testing.T) {
	c := startCore(t, defaultObjects()...)
	configuration := UEAuthentication.NewConfiguration()
	configuration.SetBasePath(c.uri)
	api := UEAuthentication.NewAPIClient(configuration).DefaultApi

	res, err := api.UeAuthenticationsPost(t.Context(), &UEAuthentication.UeAuthenticationsPostRequest{
		AuthenticationInfo: &models.AuthenticationInfo{SupiOrSuci: "suci-0-208-93-0000-0-0-0000000001", ServingNetworkName: testSNN},
	})
	if err != nil {
		t.Fatal(err)
	}
	data, _ := res.UeAuthenticationCtx.Var5gAuthData.(map[string]any)
	rand, autn := [16]byte(mustHex(t, data["rand"].(string))), [16]byte(mustHex(t, data["autn"].(string)))
	resStar, kseaf, _, err := usimOf(t, testK, testOPc).Challenge(rand, autn, testSNN)
	if err != nil {
		t.Fatal(err)
	}
	// As the AMF finds the context: the fifth part of the link's path.
	href := res.UeAuthenticationCtx.Links["5g-aka"][0].Href
	id := strings.Split(strings.TrimPrefix(href, c.uri), "/")[4]
	confirmed, err := api.UeAuthenticationsAuthCtxId5gAkaConfirmationPut(t.Context(),
		&UEAuthentication.UeAuthenticationsAuthCtxId5gAkaConfirmationPutRequest{
			AuthCtxId: &id, ConfirmationData: &models.ConfirmationData{ResStar: hex.EncodeToString(resStar[:])},
		})
	if err != nil {
		t.Fatal(err)
	}
	want := models.ConfirmationDataResponse{
		AuthResult: models.AusfUeAuthenticationAuthResult_SUCCESS, Supi: supiOne, Kseaf: hex.EncodeToString(kseaf[:]),
	}
	if diff := cmp.Diff(want, confirmed.ConfirmationDataResponse); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAMFsClientOfTheUDM(t *testing.T) {
	c := startCore(t, defaultObjects()...)
	ctx := context.Background()
	supi, plmn := supiOne, models.PlmnId{Mcc: "208", Mnc: "93"}
	sdmConfiguration := SubscriberDataManagement.NewConfiguration()
	sdmConfiguration.SetBasePath(c.uri)
	sdm := SubscriberDataManagement.NewAPIClient(sdmConfiguration)

	nssai, err := sdm.SliceSelectionSubscriptionDataRetrievalApi.GetNSSAI(ctx,
		&SubscriberDataManagement.GetNSSAIRequest{Supi: &supi, PlmnId: &plmn})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]models.Snssai{{Sst: 1, Sd: "010203"}}, nssai.Nssai.DefaultSingleNssais); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	am, err := sdm.AccessAndMobilitySubscriptionDataRetrievalApi.GetAmData(ctx,
		&SubscriberDataManagement.GetAmDataRequest{Supi: &supi, PlmnId: &models.PlmnIdNid{Mcc: "208", Mnc: "93"}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&models.AmbrRm{Uplink: "100 Mbps", Downlink: "200 Mbps"}, am.AccessAndMobilitySubscriptionData.SubscribedUeAmbr); diff != "" {
		t.Errorf("UE AMBR (-want +got):\n%s", diff)
	}
	selection, err := sdm.SMFSelectionSubscriptionDataRetrievalApi.GetSmfSelData(ctx,
		&SubscriberDataManagement.GetSmfSelDataRequest{Supi: &supi, PlmnId: &plmn})
	if err != nil {
		t.Fatal(err)
	}
	want := models.SnssaiInfo{DnnInfos: []models.DnnInfo{{Dnn: "internet", DefaultDnnIndicator: true}}}
	if diff := cmp.Diff(want, selection.SmfSelectionSubscriptionData.SubscribedSnssaiInfos["01010203"]); diff != "" {
		t.Errorf("SMF selection under the key that the AMF builds (-want +got):\n%s", diff)
	}
	if _, err := sdm.UEContextInSMFDataRetrievalApi.GetUeCtxInSmfData(ctx,
		&SubscriberDataManagement.GetUeCtxInSmfDataRequest{Supi: &supi}); err != nil {
		t.Error(err)
	}
	subscribed, err := sdm.SubscriptionCreationApi.Subscribe(ctx, &SubscriberDataManagement.SubscribeRequest{
		UeId: &supi, SdmSubscription: &models.SdmSubscription{NfInstanceId: "x", PlmnId: &plmn},
	})
	if err != nil {
		t.Fatal(err)
	}
	if subscribed.SdmSubscription.SubscriptionId == "" {
		t.Error("no subscriptionId")
	}
	if _, err := sdm.SubscriptionDeletionApi.Unsubscribe(ctx, &SubscriberDataManagement.UnsubscribeRequest{
		UeId: &supi, SubscriptionId: &subscribed.SdmSubscription.SubscriptionId,
	}); err != nil {
		t.Error(err)
	}
	// The second time is a refusal that the AMF can read; it logs it and goes on.
	_, err = sdm.SubscriptionDeletionApi.Unsubscribe(ctx, &SubscriberDataManagement.UnsubscribeRequest{
		UeId: &supi, SubscriptionId: &subscribed.SdmSubscription.SubscriptionId,
	})
	if refusal, _ := modelOf(err).(SubscriberDataManagement.UnsubscribeError); refusal.ProblemDetails.Cause != "SUBSCRIPTION_NOT_FOUND" {
		t.Errorf("second deletion: %v", err)
	}

	uecmConfiguration := UEContextManagement.NewConfiguration()
	uecmConfiguration.SetBasePath(c.uri)
	uecm := UEContextManagement.NewAPIClient(uecmConfiguration)
	for range 2 { // 201, then 200
		if _, err := uecm.AMFRegistrationFor3GPPAccessApi.Call3GppRegistration(ctx, &UEContextManagement.Call3GppRegistrationRequest{
			UeId: &supi, Amf3GppAccessRegistration: &models.Amf3GppAccessRegistration{
				AmfInstanceId: "9c2a3ccd-4c2f-4c63-8f3b-8f3b8f3b8f3b", DeregCallbackUri: "http://amf/", RatType: models.RatType_NR,
				Guami: &models.Guami{PlmnId: &models.PlmnIdNid{Mcc: "208", Mnc: "93"}, AmfId: "cafe00"},
			},
		}); err != nil {
			t.Error(err)
		}
	}
	_, err = uecm.ParameterUpdateInTheAMFRegistrationFor3GPPAccessApi.Update3GppRegistration(ctx,
		&UEContextManagement.Update3GppRegistrationRequest{
			UeId: &supi, Amf3GppAccessRegistrationModification: &models.Amf3GppAccessRegistrationModification{
				Guami: &models.Guami{PlmnId: &models.PlmnIdNid{Mcc: "208", Mnc: "93"}, AmfId: "cafe40"}, PurgeFlag: true,
			},
		})
	if refusal, _ := modelOf(err).(UEContextManagement.Update3GppRegistrationError); refusal.ProblemDetails.Cause != "INVALID_GUAMI" {
		t.Errorf("purge by another AMF: %v", err)
	}
	if _, err := uecm.ParameterUpdateInTheAMFRegistrationFor3GPPAccessApi.Update3GppRegistration(ctx,
		&UEContextManagement.Update3GppRegistrationRequest{
			UeId: &supi, Amf3GppAccessRegistrationModification: &models.Amf3GppAccessRegistrationModification{
				Guami: &models.Guami{PlmnId: &models.PlmnIdNid{Mcc: "208", Mnc: "93"}, AmfId: "cafe00"}, PurgeFlag: true,
			},
		}); err != nil {
		t.Error(err)
	}
}

func TestAMFsClientOfTheNSSF(t *testing.T) {
	c := startCore(t, defaultObjects()...)
	configuration := NSSelection.NewConfiguration()
	configuration.SetBasePath(c.uri)
	api := NSSelection.NewAPIClient(configuration).NetworkSliceInformationDocumentApi
	nfType := models.NrfNfManagementNfType_AMF
	tai := &models.Tai{PlmnId: &models.PlmnId{Mcc: "208", Mnc: "93"}, Tac: "000001"}

	session, err := api.NSSelectionGet(context.Background(), &NSSelection.NSSelectionGetRequest{
		NfType: &nfType, NfId: ptr("x"), Tai: tai,
		SliceInfoRequestForPduSession: &models.SliceInfoForPduSession{
			SNssai: &models.Snssai{Sst: 1, Sd: "010203"}, RoamingIndication: models.RoamingIndication_NON_ROAMING,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := &models.NsiInformation{NrfId: "http://core5g-nrf:8000/nnrf-nfm/v1/nf-instances", NsiId: "internet"}
	if diff := cmp.Diff(want, session.AuthorizedNetworkSliceInfo.NsiInformation); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	registration, err := api.NSSelectionGet(context.Background(), &NSSelection.NSSelectionGetRequest{
		NfType: &nfType, NfId: ptr("x"), Tai: tai,
		SliceInfoRequestForRegistration: &models.SliceInfoForRegistration{
			SubscribedNssai: []models.SubscribedSnssai{{SubscribedSnssai: &models.Snssai{Sst: 1, Sd: "010203"}, DefaultIndication: true}},
			RequestedNssai:  []models.Snssai{{Sst: 1, Sd: "010203"}, {Sst: 1, Sd: "990099"}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	allowed := registration.AuthorizedNetworkSliceInfo.AllowedNssaiList
	if len(allowed) != 1 || len(allowed[0].AllowedSnssaiList) != 1 || allowed[0].AllowedSnssaiList[0].AllowedSnssai.Sd != "010203" {
		t.Errorf("allowed NSSAI %+v", allowed)
	}
	if diff := cmp.Diff([]models.Snssai{{Sst: 1, Sd: "990099"}}, registration.AuthorizedNetworkSliceInfo.RejectedNssaiInPlmn); diff != "" {
		t.Errorf("rejected (-want +got):\n%s", diff)
	}
}

func TestPCFsClientOfTheUDR(t *testing.T) {
	c := startCore(t, defaultObjects()...)
	ctx := context.Background()
	configuration := DataRepository.NewConfiguration()
	configuration.SetBasePath(c.uri)
	api := DataRepository.NewAPIClient(configuration)
	snssai := models.Snssai{Sst: 1, Sd: "010203"}

	if _, err := api.AccessAndMobilityPolicyDataDocumentApi.ReadAccessAndMobilityPolicyData(ctx,
		&DataRepository.ReadAccessAndMobilityPolicyDataRequest{UeId: ptr(supiOne)}); err != nil {
		t.Error(err)
	}
	sm, err := api.SessionManagementPolicyDataDocumentApi.ReadSessionManagementPolicyData(ctx,
		&DataRepository.ReadSessionManagementPolicyDataRequest{UeId: ptr(supiOne), Snssai: &snssai, Dnn: ptr("internet")})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := sm.SmPolicyData.SmPolicySnssaiData["01010203"].SmPolicyDnnData["internet"]; !ok {
		t.Errorf("policy data %+v", sm.SmPolicyData)
	}
	influence, err := api.InfluenceDataStoreApi.ReadInfluenceData(ctx, &DataRepository.ReadInfluenceDataRequest{
		Dnns: []string{"internet"}, Snssais: []models.Snssai{snssai}, Supis: []string{supiOne},
	})
	if err != nil || len(influence.TrafficInfluData) != 0 {
		t.Errorf("influence data %+v, error %v", influence, err)
	}
	subscribed, err := api.InfluenceDataSubscriptionsCollectionApi.CreateIndividualInfluenceDataSubscription(ctx,
		&DataRepository.CreateIndividualInfluenceDataSubscriptionRequest{
			TrafficInfluSub: &models.TrafficInfluSub{Dnns: []string{"internet"}, NotificationUri: "http://pcf/"},
		})
	if err != nil {
		t.Fatal(err)
	}
	id := subscribed.Location[strings.LastIndex(subscribed.Location, "/")+1:]
	if id == "" {
		t.Errorf("Location %q", subscribed.Location)
	}
	if _, err := api.IndividualInfluenceDataSubscriptionDocumentApi.DeleteIndividualInfluenceDataSubscription(ctx,
		&DataRepository.DeleteIndividualInfluenceDataSubscriptionRequest{SubscriptionId: &id}); err != nil {
		t.Error(err)
	}
	// As PCF 1.4.5 does for a subscription that it never got.
	_, err = api.IndividualInfluenceDataSubscriptionDocumentApi.DeleteIndividualInfluenceDataSubscription(ctx,
		&DataRepository.DeleteIndividualInfluenceDataSubscriptionRequest{SubscriptionId: ptr("")})
	if refusal, _ := modelOf(err).(DataRepository.DeleteIndividualInfluenceDataSubscriptionError); refusal.ProblemDetails.Cause != "SUBSCRIPTION_NOT_FOUND" {
		t.Errorf("deletion of nothing: %v", err)
	}
}
